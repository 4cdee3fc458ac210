/**
 * The stored form of a contact: `<normalized>` NUL `<contact>`, or the contact alone where it is its own normalized form. That is
 * the common case and halves the memory. A normalized form has no NUL, so the first NUL ends it.
 */
import { requireName, requireText } from '@mortise/redis';
import { normalize } from '../text/normalize.js';

const SEPARATOR = '\0';

/**
 * `displayOf` returns the part of a contact by which it is found. Throws TypeError or RangeError for a contact that isn't 1 to 1,024
 * bytes of well-formed text.
 */
export function toEntry(contact: string, displayOf?: (contact: string) => string): string {
  requireText('contact', contact);
  const form = normalize(displayOf ? requireName('displayOf', displayOf(contact)) : contact);
  return form === contact ? contact : form + SEPARATOR + contact;
}

export function toContact(entry: string): string {
  return entry.slice(entry.indexOf(SEPARATOR) + 1);
}
