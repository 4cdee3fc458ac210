/** The call of worker.exchange.lua. */
import type { CommandArgument } from '@mortise/redis';
import type { ResolvedWorkerOptions } from '../options.js';
import { workerExchange } from '../scripts.gen.js';
import type { Shard } from '../shard/shard.js';
import type { Taken } from './attempt.js';

export interface ExchangeRequest {
  /** On which whoever asks is woken. */
  readonly channel: string;
  /** The most tasks to take. */
  readonly want: number;
  readonly leaseMs: number;
  /** How long whoever asks may sleep. */
  readonly parkMs: number;
  readonly settlements: readonly { readonly storedId: Buffer; readonly encoded: Buffer }[];
}

export interface Exchanged {
  /** One character a settlement. */
  readonly settled: Buffer;
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
  { channel, want, leaseMs, parkMs, settlements }: ExchangeRequest,
): Promise<Exchanged> {
  const { keepSucceeded, keepSucceededMs, keepDead } = retention;
  const { redis, keys, settings: known } = shard;
  const { settings, tasks, attempts, active, succeeded, dead, idle, timekeeper } = keys.of;
  const operands: CommandArgument[] = [];
  for (const { storedId, encoded } of settlements) operands.push(storedId, encoded);
  const [settled, sleepMs, nowUs, chores, ...fields] = (await known.run(() =>
    workerExchange.runBuffer(
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
        lanes: known.keys,
      },
      {
        believed: known.text,
        publish: shard.publish,
        channel,
        want,
        leaseMs,
        parkMs,
        keepSucceeded,
        keepSucceededMs,
        keepDead,
        settlements: operands,
      },
    ),
  )) as [Buffer, number, number, number, ...unknown[]];
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
