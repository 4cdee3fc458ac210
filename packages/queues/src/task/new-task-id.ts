/**
 * Ids of tasks that were given none: UUIDv7, ascending within a process. Random bytes are drawn for 256 ids at a time,
 * since one draw for each costs more than all the rest of an enqueue in the client.
 */
import { randomFillSync } from 'node:crypto';
import { v7 as uuidv7 } from 'uuid';
import { decodeTaskId } from './task-id.js';

const BYTES = 16;
const pool = Buffer.alloc(256 * BYTES);
let used = pool.length;
let msecs = -Infinity;
let seq = 0;

/**
 * A new id, and how Redis has it.
 *
 * @param shard The id shall lie in this of `shards` shards; see `Shards.indexOf`.
 */
export function newTaskId(shard = 0, shards = 1): { readonly id: string; readonly storedId: Buffer } {
  if (used === pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  const random = pool.subarray(used, used + BYTES);
  used += BYTES;
  const now = Date.now();
  if (now > msecs) {
    msecs = now;
    // Half of the range is left to count up in.
    seq = random.readUInt32BE(6) >>> 1;
  } else {
    seq = (seq + 1) >>> 0;
    if (seq === 0) msecs += 1;
  }
  const storedId = uuidv7({ random, msecs, seq }, Buffer.allocUnsafe(BYTES));
  if (shards > 1) {
    // The last byte is random, and stays so but for what it is modulo the number of shards.
    const last = storedId[BYTES - 1]!;
    const first = Math.min(last - (last % shards), 256 - shards);
    storedId[BYTES - 1] = first - (first % shards) + shard;
  }
  return { id: decodeTaskId(storedId), storedId };
}
