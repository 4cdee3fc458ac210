import type { RedisClient } from '@mortise/redis';
import { callRedisBuffer } from '@mortise/redis';
import type { FileKeys } from '../keys.js';
import { CHUNK_HEADER_BYTES } from '../chunk.js';
import type { Position } from '../chunk.js';
import type { FileHead } from '../file-head.js';
import { chunkKeys } from '../file-head.js';

/** Headers read in one round trip. */
const AT_ONCE = 32;

/**
 * The position of a byte of a file. Chunks have any length; their headers contain their offsets. Undefined if the byte is
 * not stored. The end of the file is a position too. A round trip for each factor of 32 in the number of stored chunks.
 */
export async function locate(
  redis: RedisClient,
  keys: FileKeys,
  head: FileHead,
  offset: number,
): Promise<Position | undefined> {
  if (offset === head.bytes) return { chunk: head.chunks, bytes: 0 };
  if (offset > head.bytes) return undefined;
  for (let low = head.freed, high = head.chunks; low < high;) {
    const step = Math.ceil((high - low) / AT_ONCE);
    const stored = chunkKeys(keys, head.writers, low, high).filter((_, index) => index % step === 0);
    const headers = await Promise.all(
      stored.map(async (key) => callRedisBuffer(redis, 'getrange', [key, 0, CHUNK_HEADER_BYTES - 1])),
    );
    const offsets = (headers as Buffer[]).map((header) =>
      // A missing chunk lies before all stored ones.
      header.length === CHUNK_HEADER_BYTES ? Number(header.readBigUInt64BE(8)) : -1,
    );
    const found = offsets.findLastIndex((start) => start <= offset);
    if (found < 0 || offsets[found] === -1) return undefined;
    low += found * step;
    if (step === 1) return { chunk: low, bytes: offset - offsets[found]! };
    high = Math.min(high, low + step);
  }
  return undefined;
}
