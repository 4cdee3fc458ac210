/** Values that JSON returns unchanged. */
export type JsonValue =
  | string
  | number
  | boolean
  | null
  | readonly JsonValue[]
  | { readonly [key: string]: JsonValue };

/** A row of a source: its columns by name. */
export type SqlRow = Readonly<Record<string, JsonValue>>;

/**
 * Converts a driver's value to JSON. A whole number that a double cannot hold exactly becomes its digits; NaN and infinities
 * become their names. Bytes become base64, an instant ISO 8601 in UTC, undefined null. Arrays and objects are converted
 * recursively.
 */
export function toJsonValue(value: unknown): JsonValue {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return value;
    case 'number':
      return Number.isFinite(value) ? value : String(value);
    case 'bigint':
      return toSafeNumber(value);
    case 'object':
      return objectToJson(value);
    case 'undefined':
    case 'function':
    case 'symbol':
    default:
      return null;
  }
}

/** The number if it is exact, else its digits. */
export function toSafeNumber(value: bigint): number | string {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value.toString();
}

function objectToJson(value: object | null): JsonValue {
  if (value === null) return null;
  if (value instanceof Uint8Array) return toBase64(value);
  if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) {
    return toBase64(ArrayBuffer.isView(value) ? new Uint8Array(value.buffer) : new Uint8Array(value));
  }
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? 'Invalid Date' : value.toISOString();
  if (Array.isArray(value)) return value.map(toJsonValue);
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, toJsonValue(inner)]));
}

function toBase64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');
}
