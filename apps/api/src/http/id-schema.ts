import { z } from 'zod';

import { isDotSegment } from './dot-segment.js';

/** Ids of up to `max` characters that need no quoting in an address. */
export function idUpTo(max: number) {
  const characters = `must be 1 to ${max} of the characters A-Z a-z 0-9 . _ ~ @ : -`;
  return z
    .string()
    .regex(new RegExp(`^[A-Za-z0-9._~@:-]{1,${max}}$`), characters)
    .refine((text) => !isDotSegment(text), 'must not be . or ..');
}

export const idSchema = idUpTo(128);
