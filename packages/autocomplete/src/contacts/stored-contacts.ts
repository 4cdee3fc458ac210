/** The stored form of the contacts of a user: see `recent-contacts.body.part.lua`. */

/** Byte 255, which is not in UTF-8, as a character. */
const BETWEEN = '\u00FF';

/** The entries of a user, up to the capacity. Older copies of an entry don't count. */
export function entriesIn(elements: readonly Buffer[], capacity: number): string[] {
  const all = new Set<string>();
  for (const element of elements) {
    const text = element.toString('latin1');
    // The entries of a body are between its head and its last byte 255.
    for (const entry of text.startsWith(BETWEEN) ? text.split(BETWEEN).slice(2, -1) : [text]) all.add(entry);
  }
  return [...all].slice(0, capacity).map((entry) => Buffer.from(entry, 'latin1').toString());
}
