import { keySlot } from '@mortise/redis';

/** The shard of a key. As in Redis, keys with the same text in braces share a shard. O(length). */
export function shardOf(key: string, shards: number): number {
  return shards === 1 ? 0 : keySlot(key) % shards;
}
