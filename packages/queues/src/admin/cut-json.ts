import { requireInteger } from '@mortise/redis';

export interface CutJson {
  /** The value; absent when it is cut. */
  readonly value?: unknown;
  /** The beginning of its JSON, when it is cut. */
  readonly text?: string;
  /** The size of its JSON, when it is cut. */
  readonly bytes?: number;
}

/**
 * The value, or the beginning of its JSON when that has more than `maxBytes` of UTF-8. No character is cut in two. O(bytes).
 * Throws ERR_INVALID_ARG.
 *
 * @param maxBytes With undefined the value is never cut.
 */
export function cutJson(value: unknown, maxBytes?: number): CutJson {
  if (maxBytes === undefined || value === undefined) return { value };
  requireInteger('maxBytes', maxBytes, { min: 1 });
  const json = JSON.stringify(value);
  const bytes = Buffer.byteLength(json);
  if (bytes <= maxBytes) return { value };
  // As of a stream that goes on: a character that was cut in two is left out.
  const text = new TextDecoder().decode(Buffer.from(json).subarray(0, maxBytes), { stream: true });
  return { text, bytes };
}
