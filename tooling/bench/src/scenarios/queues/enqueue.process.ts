/** One process that stores tasks without end: a number of callers, each of which waits for one call before the next. */
import type { MakeSegment } from '../../crew-member.js';
import type { Payload } from './payload.js';
import { payloadOf } from './payload.js';
import { queueKind } from './kinds/index.js';

export interface EnqueueSettings {
  readonly url: string;
  readonly kind: string;
  readonly callers: number;
  /** Tasks of one call. */
  readonly batch: number;
}

export interface EnqueueReport {
  readonly tasks: number;
}

const make: MakeSegment<EnqueueSettings, EnqueueReport> = async ({ url, kind, callers, batch }) => {
  const producer = await queueKind(kind).producer(url);
  let next = 0;
  let tasks = 0;
  const payloads = (): Payload[] => Array.from({ length: batch }, () => payloadOf(next++));
  const call = async (): Promise<never> => {
    for (;;) {
      await (batch === 1 ? producer.enqueue(payloadOf(next++)) : producer.enqueueMany(payloads()));
      tasks += batch;
    }
  };
  return {
    start: () => {
      for (let caller = 0; caller < callers; caller += 1) void call();
    },
    open: () => {
      tasks = 0;
    },
    close: () => ({ tasks }),
  };
};

export default make;
