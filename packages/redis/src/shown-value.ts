/** A value in the message of an error, as JSON; its type if it has none, such as a BigInt. Never throws. */
export function shownValue(value: unknown): string {
  try {
    return String(JSON.stringify(value));
  } catch {
    return typeof value;
  }
}
