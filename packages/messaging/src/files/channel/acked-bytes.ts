import type { RedisClient } from '@mortise/redis';
import { callRedisBuffer } from '@mortise/redis';
import { decodePosition } from '../chunk.js';
import type { FileHead } from '../file-head.js';
import { chunkKeys } from '../file-head.js';
import type { FileKeys } from '../keys.js';

/** The byte of a cursor. One round trip, unless the cursor is at the end. */
export async function ackedBytesOf(
  redis: RedisClient,
  keys: FileKeys,
  head: FileHead,
  score: number,
): Promise<number> {
  const { chunk, bytes } = decodePosition(score);
  if (chunk >= head.chunks) return head.bytes;
  const [key] = chunkKeys(keys, head.writers, chunk, chunk + 1);
  const header = (await callRedisBuffer(redis, 'getrange', [key!, 8, 15])) as Buffer;
  return header.length === 8 ? Number(header.readBigUInt64BE()) + bytes : head.bytes;
}
