/** Calls fetcher.fetch-and-ack.lua. */
import type { ResolvedWorkerOptions } from '../options.js';
import { fetcherFetchAndAck } from '../scripts.gen.js';
import type { Shard } from '../shard/shard.js';

/** A task under a lease, from the script or from a hand-off. */
export interface FetchedTask {
  /** The id as stored in Redis. */
  readonly storedId: Buffer;
  readonly token: number;
  readonly attempt: number;
  readonly record: Buffer;
  /** Since when workers without a handler hand it back, ms before the fetch. Default 0: this is the first one. */
  readonly unknownMs?: number;
  /** Kept for an extension of the executor until the ack is answered. A field costs less than a map. */
  context?: unknown;
}

type Acks = readonly {
  readonly storedId: Buffer;
  readonly encoded: Buffer;
  readonly keepsNone?: boolean;
}[];

export interface FetchRequest {
  /** The worker as a member of `idle`; see `QueueKeys.idleMember`. Read again for each try, since it names the settings. */
  readonly member: string;
  /** The most tasks to fetch. */
  readonly want: number;
  /** With fewer tasks than this, the worker becomes idle. Default: `want`. */
  readonly slots?: number;
  readonly leaseMs: number;
  /** How long the worker may stay idle before its next call. */
  readonly idleMs: number;
  /** After this time, one of several idle workers looks whether the timekeeper has died. */
  readonly recheckMs: number;
  /** Whether the script also looks for the next end of a lease. */
  readonly keepsTime: boolean;
  /** Whether another idle worker should set the timer for the next due task. */
  readonly leavesTime?: boolean;
  readonly acks: Acks;
}

export interface FetchReply {
  /** One character for each ack. */
  readonly answers: Buffer;
  /**
   * How long to wait before the next call, whole ms, so that it reaches the server when something is due, if it takes as
   * long as this one did. 0: there is more to fetch; -1: the worker is not idle; -2: the script did not look. Below -2: nothing
   * is due, and the worker looks again after that time or a little earlier.
   */
  readonly sleepMs: number;
  /** A bit for each kind of maintenance that is due; see `Maintainer`. */
  readonly maintenance: number;
  /** The server's time, ms since the epoch. */
  readonly nowMs: number;
  /** The same, µs. */
  readonly nowUs: number;
  readonly fetched: FetchedTask[];
  /** Whether the call has kept no succeeded task: all its acks allow it, and nobody reads events, which lead readers to the tasks. */
  readonly areRemoved: boolean;
}

/** As `sleepMs`: the script did not look. */
export const NOT_LOOKED = -2;
/** In a reply, an attempt is its number and `unknownMs` times this. */
const ATTEMPTS = 65_536;

/** @param retention Maximum number of ended tasks. */
export async function fetchAndAck(
  shard: Shard,
  retention: Pick<ResolvedWorkerOptions, 'keepSucceeded' | 'keepSucceededMs' | 'keepDead'>,
  request: FetchRequest,
): Promise<FetchReply> {
  const { want, slots = want, leaseMs, idleMs, recheckMs, keepsTime, acks } = request;
  const { keepSucceeded, keepSucceededMs, keepDead } = retention;
  const { redis, keys, settings: known } = shard;
  const { settings, tasks, attempts, active, succeeded, dead, idle, timekeeper } = keys.of;
  const packed = packAcks(acks);
  let sentAt = 0;
  let areRemoved = false;
  const [answers, sleepUs, nowUs, maintenance, ...fields] = (await known.run(() => {
    sentAt = performance.now();
    areRemoved = acks.length > 0 && known.values.keepEvents === 0 && acks.every(({ keepsNone }) => keepsNone);
    return fetcherFetchAndAck.runBuffer(
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
        priorityCount: known.values.priorities.length,
        usesOptional: known.usesOptional ? 1 : 0,
        member: request.member,
        want,
        slots,
        leaseMs,
        idleMs,
        recheckMs,
        keepsTime: request.leavesTime ? 2 : keepsTime ? 1 : 0,
        keepSucceeded: keepSucceededMs > 0 && !areRemoved ? keepSucceeded : 0,
        keepDead,
        count: acks.length,
        acks: packed,
      },
    );
  })) as [Buffer, number, number, number, ...unknown[]];
  const sleepMs = sleepMsOf(sleepUs, performance.now() - sentAt);
  const token = nowUs % 2 ** 32;
  const fetched: FetchedTask[] = [];
  for (let index = 0; index < fields.length; index += 3) {
    const attempt = fields[index + 1] as number;
    fetched.push({
      storedId: fields[index] as Buffer,
      token,
      attempt: attempt % ATTEMPTS,
      record: fields[index + 2] as Buffer,
      context: undefined,
      ...(attempt > ATTEMPTS && { unknownMs: Math.floor(attempt / ATTEMPTS) }),
    });
  }
  return { answers, sleepMs, maintenance, nowMs: Math.floor(nowUs / 1_000), nowUs, fetched, areRemoved };
}

function sleepMsOf(sleepUs: number, tookMs: number): number {
  if (sleepUs > 0) return Math.max(1, Math.ceil(sleepUs / 1_000 - tookMs));
  return sleepUs < NOT_LOOKED ? Math.floor(sleepUs / 1_000) : sleepUs;
}

/** The acks as one argument: an argument for each would cost more than the ack. */
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
