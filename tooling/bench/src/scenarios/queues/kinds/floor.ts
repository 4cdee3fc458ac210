/**
 * The least that an at-least-once queue with batches does: a list of records, a lease for each that was taken, one script
 * that stores a batch and one that settles a batch and takes the next. No priorities, delays, retries, results, limits, nor
 * anything that puts back what a dead worker held.
 */
import { Redis } from 'ioredis';
import type { QueueKind } from '../kind.js';
import type { Payload } from '../payload.js';

const READY = '{bench}:ready';
const ACTIVE = '{bench}:active';
const WAKE = '{bench}:wake';
const LEASE_MS = 10_000;
const MAX_BATCH = 500;

const PUSH = `#!lua
redis.call('RPUSH', KEYS[1], unpack(ARGV))
if redis.call('EXISTS', KEYS[2]) == 0 then redis.call('RPUSH', KEYS[2], '1') end
return #ARGV`;

const EXCHANGE = `#!lua
if #ARGV > 2 then redis.call('ZREM', KEYS[2], unpack(ARGV, 3)) end
if ARGV[1] == '0' then return {} end
local taken = redis.call('LPOP', KEYS[1], ARGV[1])
if not taken then return {} end
local time = redis.call('TIME')
local leaseUntil, leases = time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[2], {}
for i, record in ipairs(taken) do leases[2 * i - 1], leases[2 * i] = leaseUntil, record end
redis.call('ZADD', KEYS[2], unpack(leases))
return taken`;

type Scripts = Redis & {
  push(ready: string, wake: string, ...records: string[]): Promise<number>;
  exchange(
    ready: string,
    active: string,
    want: number,
    leaseMs: number,
    ...done: string[]
  ): Promise<string[]>;
};

function connect(url: string): Scripts {
  const redis = new Redis(url) as Scripts;
  redis.defineCommand('push', { numberOfKeys: 2, lua: PUSH });
  redis.defineCommand('exchange', { numberOfKeys: 2, lua: EXCHANGE });
  return redis;
}

/** Calls of one tick share a command. */
function pushing(redis: Scripts): (payload: Payload) => Promise<unknown> {
  let ids = 0;
  let records: string[] = [];
  let pushed: Promise<unknown> | undefined;
  return (payload) => {
    records.push(`${(ids++).toString(36).padStart(8, '0')}|${JSON.stringify(payload)}`);
    pushed ??= new Promise((resolve, reject) => {
      setImmediate(() => {
        const batch = records;
        records = [];
        pushed = undefined;
        const calls: Promise<unknown>[] = [];
        for (let from = 0; from < batch.length; from += MAX_BATCH) {
          calls.push(redis.push(READY, WAKE, ...batch.slice(from, from + MAX_BATCH)));
        }
        Promise.all(calls).then(resolve, reject);
      });
    });
    return pushed;
  };
}

export const FLOOR: QueueKind = {
  name: 'bare batched floor',
  version: '',
  producer: (url) => {
    const enqueue = pushing(connect(url));
    return Promise.resolve({
      enqueue,
      enqueueMany: (payloads) => Promise.all(payloads.map((payload) => enqueue(payload))),
    });
  },
  work: ({ url, concurrency }, handle) => {
    const redis = connect(url);
    const waiting = new Redis(url);
    let done: string[] = [];
    let running = 0;
    let wakes = 0;
    let hasWork = true;
    let isAsking = false;
    let isListening = false;
    let isStopped = false;

    const ask = async (): Promise<void> => {
      const want = isStopped ? 0 : Math.min(concurrency - running, MAX_BATCH);
      if (isAsking || (done.length === 0 && !(hasWork && want > 0))) return;
      isAsking = true;
      const settled = done;
      done = [];
      const wakesBefore = wakes;
      const taken = await redis.exchange(READY, ACTIVE, want, LEASE_MS, ...settled);
      isAsking = false;
      hasWork = taken.length === want || wakes !== wakesBefore;
      running += taken.length;
      for (const record of taken) void run(record);
      if (!hasWork && !isListening) void listen();
      setImmediate(() => void ask());
    };
    const run = async (record: string): Promise<void> => {
      await handle(JSON.parse(record.slice(record.indexOf('|') + 1)) as Payload);
      running -= 1;
      done.push(record);
      setImmediate(() => void ask());
    };
    const listen = async (): Promise<void> => {
      isListening = true;
      await waiting.blpop(WAKE, 0).catch(() => null);
      isListening = false;
      wakes += 1;
      hasWork = true;
      await ask();
    };

    void ask();
    return Promise.resolve(() => {
      isStopped = true;
      waiting.disconnect();
      return Promise.resolve();
    });
  },
  unfinished: async (redis) => (await redis.llen(READY)) + (await redis.zcard(ACTIVE)),
  kept: () => Promise.resolve(0),
};
