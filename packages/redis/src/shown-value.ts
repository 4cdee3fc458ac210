/**
 * Returns the text of a value for the message of an error: its JSON, or the type of a value without JSON, such as a BigInt.
 * Never throws.
 */
export function shownValue(value: unknown): string {
  try {
    // Undefined for a function or a symbol.
    return JSON.stringify(value) ?? 'undefined';
  } catch {
    return typeof value;
  }
}
