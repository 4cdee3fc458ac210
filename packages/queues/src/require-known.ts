/**
 * Refuses options that nobody reads: a name that is misspelled, or another library's, would be ignored in silence, and a task
 * that was to wait an hour would run at once. Throws TypeError.
 */
export function requireKnown(what: string, options: object, known: ReadonlySet<string>): void {
  for (const name in options) {
    if (known.has(name)) continue;
    throw new TypeError(`${what} has no option ${JSON.stringify(name)}; there are ${[...known].join(', ')}`);
  }
}
