/** Schemas that contacts and address books share. */
import { MAX_NAME_BYTES } from '@mortise/redis';
import { z } from 'zod';

import { digits } from '../http/digits.js';

/**
 * As in the name of a player: control characters, halves of surrogate pairs, and characters that change the direction of
 * text.
 */
const UNFIT = /[\p{Cc}\p{Cs}\p{Bidi_Control}\u2028\u2029]/u;

/** A display name, in any writing system. */
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
export const prefix = z
  .string()
  .default('')
  .meta({ description: 'The text typed so far. Without it, all names match.' });

/** How many completions. */
export function limitUpTo(max: number, usual: number) {
  return (
    digits(1, max)
      .default(usual)
      // zod leaves the default of what it preprocesses out of the JSON schema.
      .meta({ description: `default ${usual}` })
  );
}
