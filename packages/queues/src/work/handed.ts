/** What queue.enqueue.lua tells a parked worker along with a task that it hands over: f64 now, µs · u32 lease, ms · u16 length · id · record. */
import type { Taken } from './attempt.js';

const ID_AT = 14;

export interface Handed {
  readonly task: Taken;
  readonly mostAttempts: number;
  /** The server's time when it was handed over, ms since the epoch. */
  readonly nowMs: number;
  /** For how long from then on nobody else gets it. */
  readonly claimMs: number;
}

export function decodeHanded(body: Buffer): Handed {
  const nowUs = body.readDoubleBE(0);
  const recordAt = ID_AT + body.readUInt16BE(12);
  const task: Taken = {
    storedId: body.subarray(ID_AT, recordAt),
    token: nowUs % 2 ** 32,
    attempt: 1,
    record: body.subarray(recordAt),
  };
  return {
    task,
    mostAttempts: body.readUInt16BE(recordAt + 1),
    nowMs: Math.floor(nowUs / 1_000),
    claimMs: body.readUInt32BE(8),
  };
}
