/** Schemas that contacts and address books share. */
import { MAX_NAME_BYTES } from '@mortise/redis';
import { z } from 'zod';

import { digits } from '../http/digits.js';
import { isDotSegment } from '../http/dot-segment.js';

const ID = /^[A-Za-z0-9._~@:-]{1,128}$/;
/**
 * As in the name of a player: control characters, halves of surrogate pairs, and characters that change the direction of
 * text.
 */
const UNFIT = /[\p{Cc}\p{Cs}\p{Bidi_Control}\u2028\u2029]/u;

/** Of a user, guild or player, and of an entry of an address book. */
export const idSchema = z
  .string()
  .regex(ID, 'must be 1 to 128 of the characters A-Z a-z 0-9 . _ ~ @ : -')
  .refine((text) => !isDotSegment(text), 'must not be . or ..');

/** A display name, in any script. */
export const textSchema = z
  .string()
  .min(1)
  .refine((text) => Buffer.byteLength(text) <= MAX_NAME_BYTES, `must have at most ${MAX_NAME_BYTES} bytes`)
  .refine(
    (text) => !UNFIT.test(text),
    'must have no control characters and none that turn the direction of text',
  );

/**
 * A typed prefix. It is folded as names are, so characters that no name can have are allowed. The head of a request bounds
 * it.
 */
export const prefix = z.string().default('').meta({ description: 'what is typed so far; without it, all' });

/** How many completions. */
export function limitUpTo(max: number, usual: number) {
  return (
    digits(1, max)
      .default(usual)
      // zod leaves the default of what it preprocesses out of the JSON schema.
      .meta({ description: `default ${usual}` })
  );
}
