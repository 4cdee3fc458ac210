import { requireInteger } from '@mortise/redis';

import { exactJson } from './exact-json.js';

export interface CutJson {
  /** The value; absent when there is a text. */
  readonly value?: unknown;
  /** The beginning of its JSON, when it is cut. The whole, indented, if a whole number in it is beyond 2^53: see `exactParse`. */
  readonly text?: string;
  /** The size of its JSON, when it is cut. */
  readonly bytes?: number;
}

const INDENT = 2;

/**
 * The value, or the beginning of its JSON when that has more than `maxBytes` of UTF-8. No character is cut in two. A value of
 * `exactParse` that JavaScript would round is a text, too. O(bytes).
 * Throws ERR_INVALID_ARG.
 *
 * @param maxBytes With undefined the value is never cut.
 */
export function cutJson(value: unknown, maxBytes?: number): CutJson {
  if (maxBytes === undefined || value === undefined) return { value };
  requireInteger('maxBytes', maxBytes, { min: 1 });
  const marked = JSON.stringify(value);
  const json = exactJson(marked);
  const bytes = Buffer.byteLength(json);
  if (bytes <= maxBytes)
    return json === marked ? { value } : { text: exactJson(JSON.stringify(value, null, INDENT)) };
  // As of a stream that goes on: a character that was cut in two is left out.
  const text = new TextDecoder().decode(Buffer.from(json).subarray(0, maxBytes), { stream: true });
  return { text, bytes };
}
