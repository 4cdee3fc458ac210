import { MAX_NAME_BYTES } from '@mortise/redis';
import { z } from 'zod';

import { isDotSegment } from './dot-segment.js';

/** Text of up to `max` bytes, as the packages accept it. `.` and `..` have no address. */
export function nameUpTo(max: number) {
  return z
    .string()
    .min(1)
    .refine((text) => Buffer.byteLength(text) <= max, `must have at most ${max} bytes`)
    .refine((text) => text.isWellFormed(), 'must not have halves of surrogate pairs')
    .refine((text) => !isDotSegment(text), 'must not be . or ..');
}

/** A name of something of a package: percent-encoded in an address. */
export const nameSchema = nameUpTo(MAX_NAME_BYTES);

/** An id of the market or of a guild, which needs no quoting in an address, a log or a `Message-ID`. */
export const idSchema = z
  .string()
  .regex(/^[A-Za-z0-9._~@:-]{1,128}$/, 'must be 1 to 128 of the characters A-Z a-z 0-9 . _ ~ @ : -')
  .refine((text) => !isDotSegment(text), 'must not be . or ..');
