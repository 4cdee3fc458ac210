/** A value in the message of an error, as JSON; its type if it has none, such as a BigInt. Never throws. */
export function shownValue(value: unknown): string {
  try {
    // Undefined for a function or a symbol.
    return JSON.stringify(value) ?? 'undefined';
  } catch {
    return typeof value;
  }
}
