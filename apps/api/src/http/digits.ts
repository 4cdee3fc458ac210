import { z } from 'zod';

/** A whole number in an address. Number and z.coerce would also take 1e1, 0x10 and spaces. */
export function digits(min: number, max = Number.MAX_SAFE_INTEGER) {
  const error = `must be a whole number from ${min} to ${max} in decimal digits`;
  return z.preprocess(
    (text) => (typeof text === 'string' && /^[0-9]+$/.test(text) ? Number(text) : text),
    z.int({ error, abort: true }).min(min, error).max(max, error),
  );
}
