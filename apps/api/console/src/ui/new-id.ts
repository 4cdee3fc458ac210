const BYTES = 16;
const HEX = 16;

/** A random id of 128 bits. Not `crypto.randomUUID`, which browsers have over HTTPS alone. */
export function newId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(BYTES));
  return Array.from(bytes, (byte) => byte.toString(HEX).padStart(2, '0')).join('');
}
