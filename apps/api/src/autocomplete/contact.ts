/**
 * A contact is an id, or an id and a display name: `lukasz-7|Łukasz Nowak`. Completion then matches the display name, and
 * the id joins it with a name of an address book. Ids have no `|`.
 */
const SEPARATOR = '|';

/** The text by which a contact is found and shown. */
export function displayOf(contact: string): string {
  return contact.slice(contact.indexOf(SEPARATOR) + 1) || contact;
}

/** The id of a contact. */
export function keyOf(contact: string): string {
  const end = contact.indexOf(SEPARATOR);
  return end > 0 ? contact.slice(0, end) : contact;
}
