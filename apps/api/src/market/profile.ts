import { MAX_MAIL_ADDRESS_BYTES, isMailAddress } from './mail-address.js';
import type { Profile } from './types.js';

/**
 * What a name may be: 1 to 100 characters, no control character, line separator or half of a surrogate pair;
 * and nothing that turns the direction of text, which would let a name rearrange the line of a mail it stands in.
 */
export const PLAYER_NAME = /^[^\p{Cc}\p{Cs}\p{Bidi_Control}\u2028\u2029]{1,100}$/u;

/** Throws TypeError for a name or an address that no mail could be written with. */
export function requireProfile({ name, email }: Profile): Profile {
  if (typeof name !== 'string' || !PLAYER_NAME.test(name)) {
    throw new TypeError('name must be 1 to 100 characters without control characters');
  }
  if (typeof email !== 'string' || !isMailAddress(email)) {
    throw new TypeError(`email must be one address of at most ${MAX_MAIL_ADDRESS_BYTES} characters`);
  }
  return { name, email };
}
