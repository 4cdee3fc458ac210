/**
 * A cached row is one character for the version of this format, then JSON. A value of another version reads as absent,
 * so old and new code may share a table while a deployment rolls.
 */
const VERSION = '1';

/** Throws TypeError for what has no JSON form: a BigInt, a cycle, a function. */
export function encodeRow(row: unknown): string {
  const json = JSON.stringify(row) as string | undefined;
  if (json === undefined) throw new TypeError(`a row must be a JSON value, got ${typeof row}`);
  return VERSION + json;
}

export function decodeRow<Row>(value: string | null): Row | null {
  return value?.startsWith(VERSION) ? (JSON.parse(value.slice(VERSION.length)) as Row) : null;
}
