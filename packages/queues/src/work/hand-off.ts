/** The message of queue.enqueue.lua with a handed-off task: f64 now, µs · u16 length · id · record. */
import type { FetchedTask } from './fetch-and-ack.js';

const ID_AT = 10;

export interface HandOff {
  readonly task: FetchedTask;
  /** The server's time at the hand-off, ms since the epoch. */
  readonly nowMs: number;
  /** The same, µs. */
  readonly nowUs: number;
}

export function decodeHandOff(body: Buffer): HandOff {
  const nowUs = body.readDoubleBE(0);
  const recordAt = ID_AT + body.readUInt16BE(8);
  const task: FetchedTask = {
    storedId: body.subarray(ID_AT, recordAt),
    token: nowUs % 2 ** 32,
    attempt: 1,
    record: body.subarray(recordAt),
    context: undefined,
  };
  return { task, nowMs: Math.floor(nowUs / 1_000), nowUs };
}
