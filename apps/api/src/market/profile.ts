import { MAX_MAIL_ADDRESS_BYTES, isMailAddress } from './mail-address.js';
import type { Profile } from './types.js';

/**
 * A name has 1 to 100 characters, without control characters, line separators and halves of surrogate pairs. It has no
 * character that changes the direction of text: such a name could rearrange the line of a mail.
 */
export const PLAYER_NAME = /^[^\p{Cc}\p{Cs}\p{Bidi_Control}\u2028\u2029]{1,100}$/u;

/** Throws TypeError for a name or an address that no mail can contain. */
export function requireProfile({ name, email }: Profile): Profile {
  if (typeof name !== 'string' || !PLAYER_NAME.test(name)) {
    throw new TypeError('name must be 1 to 100 characters without control characters');
  }
  if (typeof email !== 'string' || !isMailAddress(email)) {
    throw new TypeError(`email must be one address of at most ${MAX_MAIL_ADDRESS_BYTES} characters`);
  }
  return { name, email };
}
