/**
 * Generates task ids: UUIDv7, ascending within a process. Written in place, with random bytes drawn for 256 ids at a time.
 * An array for each id, from a library, costs eight times as much, more than the rest of an enqueue in the client.
 *
 *   u48 ms · 4 bits version 7 · u12 of seq · 2 bits variant · u20 of seq · 42 bits random
 *
 * `seq` starts at a random value in the lower half of its 32 bits each ms, and counts up within it.
 */
import { randomFillSync } from 'node:crypto';

const BYTES = 16;
/** Random bytes of each id: 4 for the start of `seq`, 6 used as they are. */
const DRAWN = 10;
const pool = Buffer.alloc(256 * DRAWN);
let used = pool.length;
let msecs = -Infinity;
let seq = 0;
/** The first six bytes of the id, and their text. */
const time = Buffer.alloc(6);
let timeText = '';

const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));

/**
 * Writes the 16 bytes of a new id to `target` at `at`; returns it as text.
 *
 * @param shard The id's shard, of `shards`; see `Shards.indexOf`.
 */
export function writeTaskId(target: Uint8Array, at: number, shard = 0, shards = 1): string {
  if (used === pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  const from = used;
  used += DRAWN;
  const now = Date.now();
  if (now > msecs) {
    // The upper half of the range is left for counting.
    seq = pool.readUInt32BE(from) >>> 1;
    setTime(now);
  } else {
    seq = (seq + 1) >>> 0;
    if (seq === 0) setTime(msecs + 1);
  }
  const sixth = 0x70 | (seq >>> 28);
  const seventh = (seq >>> 20) & 0xff;
  const eighth = 0x80 | ((seq >>> 14) & 0x3f);
  const ninth = (seq >>> 6) & 0xff;
  const tenth = ((seq << 2) & 0xff) | (pool[from + 4]! & 0x03);
  let last = pool[from + 9]!;
  if (shards > 1) {
    // The last byte stays random except that it determines the shard, modulo the number of shards.
    const first = Math.min(last - (last % shards), 256 - shards);
    last = first - (first % shards) + shard;
  }
  target.set(time, at);
  target[at + 6] = sixth;
  target[at + 7] = seventh;
  target[at + 8] = eighth;
  target[at + 9] = ninth;
  target[at + 10] = tenth;
  const a = (target[at + 11] = pool[from + 5]!);
  const b = (target[at + 12] = pool[from + 6]!);
  const c = (target[at + 13] = pool[from + 7]!);
  const d = (target[at + 14] = pool[from + 8]!);
  target[at + 15] = last;
  return `${timeText}-${HEX[sixth]}${HEX[seventh]}-${HEX[eighth]}${HEX[ninth]}-${HEX[tenth]}${HEX[a]}${HEX[b]}${HEX[c]}${HEX[d]}${HEX[last]}`;
}

/** A new id as text and as stored; see `writeTaskId`. */
export function newTaskId(shard = 0, shards = 1): { readonly id: string; readonly storedId: Buffer } {
  const storedId = Buffer.allocUnsafe(BYTES);
  return { id: writeTaskId(storedId, 0, shard, shards), storedId };
}

function setTime(ms: number): void {
  msecs = ms;
  time.writeUIntBE(ms, 0, 6);
  const hex = time.toString('hex');
  timeText = `${hex.slice(0, 8)}-${hex.slice(8)}`;
}
