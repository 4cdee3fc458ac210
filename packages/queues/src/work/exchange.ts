/** The call of worker.exchange.lua. */
import type { ResolvedWorkerOptions } from '../options.js';
import { workerExchange } from '../scripts.gen.js';
import type { Shard } from '../shard/shard.js';
import type { Taken } from './attempt.js';

/**
 * So often a process looks for what dead workers held, and for what is too old to be kept; each call would cost the server
 * an eighth more.
 */
const THOROUGH_EVERY_MS = 100;
/** When it looked last, `performance.now()`. */
const lookedAt = new WeakMap<Shard, number>();

type Acks = readonly { readonly storedId: Buffer; readonly encoded: Buffer }[];

export interface ExchangeRequest {
  /** On which whoever asks is woken. */
  readonly channel: string;
  /** The most tasks to take. */
  readonly want: number;
  /** Who gets fewer is parked. Default: `want`. */
  readonly slots?: number;
  readonly leaseMs: number;
  /** How long whoever asks may sleep. */
  readonly parkMs: number;
  readonly acks: Acks;
  /** Nobody may come for a while to do what is not done with each call. */
  readonly isLeaving?: boolean;
}

export interface Exchanged {
  /** One character a completion. */
  readonly settled: Buffer;
  /**
   * How long to wait with the next call, whole ms, so that it comes to the server when something falls due, if it is as long on
   * its way as this one was; 0 when there is more to take already, -1 when there is nothing to wait for.
   */
  readonly sleepMs: number;
  /** A bit for each kind of work beside tasks that waits; see `Chores`. */
  readonly chores: number;
  /** The server's time, ms since the epoch. */
  readonly nowMs: number;
  readonly taken: Taken[];
}

/** @param retention How many of the tasks that have ended are kept. */
export async function exchange(
  shard: Shard,
  retention: Pick<ResolvedWorkerOptions, 'keepSucceeded' | 'keepSucceededMs' | 'keepDead'>,
  { channel, want, slots = want, leaseMs, parkMs, acks, isLeaving = false }: ExchangeRequest,
): Promise<Exchanged> {
  const { keepSucceeded, keepSucceededMs, keepDead } = retention;
  const { redis, keys, settings: known } = shard;
  const { settings, tasks, attempts, active, succeeded, dead, idle, timekeeper } = keys.of;
  const now = performance.now();
  const isThorough = isLeaving || now - (lookedAt.get(shard) ?? -Infinity) >= THOROUGH_EVERY_MS;
  if (isThorough) lookedAt.set(shard, now);
  const packed = packAcks(acks);
  let sentAt = now;
  const [settled, sleepUs, nowUs, chores, ...fields] = (await known.run(() => {
    sentAt = performance.now();
    return workerExchange.runBuffer(
      redis,
      {
        settings,
        tasks,
        attempts,
        active,
        succeeded,
        dead,
        idle,
        timekeeper,
        priorityKeys: known.keys,
      },
      {
        expectedSettings: known.text,
        publish: shard.publish,
        channel,
        want,
        slots,
        leaseMs,
        parkMs,
        keepSucceeded,
        keepSucceededMs,
        keepDead,
        isThorough: isThorough ? 1 : 0,
        count: acks.length,
        acks: packed,
      },
    );
  })) as [Buffer, number, number, number, ...unknown[]];
  // Something is due that this call has not looked for.
  if (sleepUs === 0) lookedAt.delete(shard);
  const sleepMs =
    sleepUs <= 0 ? sleepUs : Math.max(1, Math.ceil(sleepUs / 1_000 - (performance.now() - sentAt)));
  const token = nowUs % 2 ** 32;
  const taken: Taken[] = [];
  for (let index = 0; index < fields.length; index += 3) {
    taken.push({
      storedId: fields[index] as Buffer,
      token,
      attempt: fields[index + 1] as number,
      record: fields[index + 2] as Buffer,
    });
  }
  return { settled, sleepMs, chores, nowMs: Math.floor(nowUs / 1_000), taken };
}

/** As worker.exchange.lua takes them: each argument of a command of its own would cost more than what it says. */
export function packAcks(acks: Acks): Buffer {
  let bytes = 0;
  for (const { storedId, encoded } of acks) bytes += 6 + storedId.length + encoded.length;
  const packed = Buffer.allocUnsafe(bytes);
  let at = 0;
  for (const { storedId, encoded } of acks) {
    packed.writeUInt16BE(storedId.length, at);
    packed.set(storedId, at + 2);
    at += 2 + storedId.length;
    packed.writeUInt32BE(encoded.length, at);
    packed.set(encoded, at + 4);
    at += 4 + encoded.length;
  }
  return packed;
}
