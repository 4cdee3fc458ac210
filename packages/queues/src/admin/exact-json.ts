/**
 * JSON with whole numbers that JavaScript rounds, for pages. Producers in JavaScript can hardly store one, but other programs can. Such a
 * number is read as a marked text, and written as a number again. Rejected: BigInt, which JSON.stringify refuses, and the reviver's
 * source texts, which Node 20 doesn't have.
 */
import { randomBytes } from 'node:crypto';

/** Nobody outside the process can write it into a payload. */
const MARK = `${randomBytes(12).toString('base64url')}:`;
/** Without it no number of the text is rounded. */
const LONG = /\d{16}/;
/** Texts and numbers of valid JSON: digits within texts are no numbers. */
const TOKEN = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g;
const WHOLE = /^-?\d{16,}$/;
const MARKED = new RegExp(`"${MARK}(-?\\d+)"`, 'g');

/**
 * As `JSON.parse`, for `parse` of `Queue.get`: `cutJson` shows whole numbers beyond 2^53 as they are stored. The value has a marked text
 * in place of each of them, so it is good for nothing else. O(length).
 */
export function exactParse(json: string): unknown {
  if (!LONG.test(json)) return JSON.parse(json);
  return JSON.parse(
    json.replaceAll(TOKEN, (token) =>
      WHOLE.test(token) && String(Number(token)) !== token ? `"${MARK}${token}"` : token,
    ),
  );
}

/** The JSON of a value of `exactParse`, with the numbers as they were. */
export function exactJson(json: string): string {
  return json.replaceAll(MARKED, '$1');
}
