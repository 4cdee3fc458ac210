/** Payloads as people write them. */
import { tell } from './toasts.tsx';

/** Texts and numbers of valid JSON: digits within texts are no numbers. */
const TOKEN = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g;
const LONG = /^-?\d{16,}$/;

/** The value of a JSON text, or undefined with a message that says why. */
export function payloadOf(text: string): { readonly value: unknown } | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    tell('The payload is not JSON.', 'bad');
    return undefined;
  }
  const isExact = (text.match(TOKEN) ?? []).every(
    (token) => !LONG.test(token) || String(Number(token)) === token,
  );
  if (isExact) return { value };
  tell('A whole number of the payload is beyond 2^53 and would be rounded: write it as a text.', 'bad');
  return undefined;
}
