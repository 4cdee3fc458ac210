/**
 * Returns the text of a value for the message of an error: its JSON, or its type if it has no JSON, such as a BigInt. Never
 * throws.
 */
export function shownValue(value: unknown): string {
  try {
    // Undefined for a function or a symbol.
    return JSON.stringify(value) ?? 'undefined';
  } catch {
    return typeof value;
  }
}
