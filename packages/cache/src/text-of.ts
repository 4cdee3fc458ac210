/** A thrown value as text. Some have none: `Object.create(null)`. */
export function textOf(thrown: unknown): string {
  try {
    const text: unknown = thrown instanceof Error ? thrown.message : thrown;
    return String(text);
  } catch {
    return 'something without a text was thrown';
  }
}
