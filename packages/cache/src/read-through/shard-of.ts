import { keySlot } from '@mortise/redis';

/** Which shard a key lives in. As in Redis, keys with the same text in braces live in the same one. O(length). */
export function shardOf(key: string, shards: number): number {
  return shards === 1 ? 0 : keySlot(key) % shards;
}
