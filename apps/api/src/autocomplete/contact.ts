/**
 * A contact is the id of somebody, or the id and what they are called: `lukasz-7|Łukasz Nowak`. Then it is found by that, and has
 * the id in common with the name of an address book. Ids have no `|`.
 */
const SEPARATOR = '|';

/** By what a contact is found and shown. */
export function displayOf(contact: string): string {
  return contact.slice(contact.indexOf(SEPARATOR) + 1) || contact;
}

/** What tells people apart. */
export function keyOf(contact: string): string {
  const end = contact.indexOf(SEPARATOR);
  return end > 0 ? contact.slice(0, end) : contact;
}
