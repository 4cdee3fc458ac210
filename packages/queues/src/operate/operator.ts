/**
 * Moves tasks by their ids. Calls of one tick and shard share a script call, in order.
 *
 * A cancelled or removed task leaves its entry in the middle of a ready list as a tombstone: removing it would be O(n).
 * Counts subtract tombstones, workers skip them. Rejected: treating entries without a record as tombstones, which fails for
 * a reused id; a sorted set instead of the list, which costs every task 100 bytes.
 */
import { ArgumentRangeError, ArgumentTypeError, Coalescer, requireOptions } from '@mortise/redis';
import { TaskActiveError } from '../errors.js';
import { operatorMove } from '../scripts.gen.js';
import type { Shard } from '../shard/shard.js';
import type { Shards } from '../shard/shards.js';
import { encodeTaskId } from '../task/task-id.js';

/** As operator.move.lua expects it. */
interface Move {
  readonly storedId: Buffer;
  readonly move: 'C' | 'X' | 'R' | 'P' | 'T' | 'K';
  /** Of a K the name of the priority. */
  readonly detail: string;
}

/** Tasks in one call: limits the time of the call in the server. */
const MAX_BATCH = 100;
const MAX_REASON_BYTES = 1_024;
const LEAVES_TOMBSTONES: ReadonlySet<Move['move']> = new Set(['C', 'X', 'T', 'K']);
const CANCEL_OPTIONS = new Set(['reason']);
/** Answers of the script. */
const DONE = '1';
const ACTIVE = 'A';
const UNKNOWN = '-';

export class Operator {
  readonly #queue: string;
  readonly #shards: Shards;
  readonly #keepCancelled: number;
  readonly #moves = new Coalescer<Shard, Move, string>((shard, batch) => this.#send(shard, batch), {
    maxBatch: MAX_BATCH,
  });

  constructor(queue: string, shards: Shards, keepCancelled: number) {
    this.#queue = queue;
    this.#shards = shards;
    this.#keepCancelled = keepCancelled;
  }

  async cancel(id: string, reason: string): Promise<boolean> {
    return (await this.#find(id, 'C', reason)) === DONE;
  }

  async remove(id: string): Promise<boolean> {
    const answer = await this.#find(id, 'X');
    if (answer === ACTIVE) throw new TaskActiveError(this.#queue, id);
    return answer === DONE;
  }

  async retry(id: string): Promise<boolean> {
    return (await this.#find(id, 'R', '*')) === DONE;
  }

  async promote(id: string): Promise<boolean> {
    return (await this.#find(id, 'P')) === DONE;
  }

  /** @param when As of `resolveWhen`: 0 now, negative so many ms from now, positive an instant. */
  async reschedule(id: string, when: number): Promise<boolean> {
    return (await this.#find(id, 'T', String(when))) === DONE;
  }

  async setPriority(id: string, priority: string): Promise<boolean> {
    // It knows the priorities then, and refuses others.
    await this.#shards.open();
    this.#shards.first.settings.priorityIndex(priority);
    return (await this.#find(id, 'K', priority)) === DONE;
  }

  /** Moves a task of this shard. `detail` of R: only if it is in that state, D dead or C cancelled. */
  async moveIn(shard: Shard, storedId: Buffer, move: Move['move'], detail = ''): Promise<boolean> {
    return (await this.#moves.submit(shard, { storedId, move, detail })) === DONE;
  }

  #find(id: string, move: Move['move'], detail = ''): Promise<string | null> {
    const storedId = encodeTaskId(id);
    return this.#shards.find(storedId, async (shard) => {
      const answer = await this.#moves.submit(shard, { storedId, move, detail });
      return answer === UNKNOWN ? null : answer;
    });
  }

  async #send(shard: Shard, batch: readonly Move[]): Promise<string[]> {
    // Before there are tombstones and cancellations, so that workers look for them.
    if (batch.some(({ move }) => LEAVES_TOMBSTONES.has(move))) await shard.enableOptional();
    const reply = await shard.call((keys, common) => {
      const { settings } = shard;
      const entries = batch.flatMap(({ storedId, move, detail }) => [
        storedId,
        move,
        move === 'K' ? String(settings.priorityIndex(detail)) : detail,
      ]);
      return operatorMove.run(shard.redis, keys, { ...common, keepCancelled: this.#keepCancelled, entries });
    });
    return (reply as string).split('');
  }
}

/** The reason of a cancellation, `''` by default. Throws TypeError or RangeError. */
export function resolveReason(options: { readonly reason?: string | undefined }): string {
  requireOptions('cancel', options, CANCEL_OPTIONS);
  const { reason = '' } = options;
  if (typeof reason !== 'string')
    throw new ArgumentTypeError(`reason must be a string, got ${typeof reason}`);
  const bytes = Buffer.byteLength(reason);
  if (bytes > MAX_REASON_BYTES) {
    throw new ArgumentRangeError(`reason must have at most ${MAX_REASON_BYTES} bytes, got ${bytes}`);
  }
  return reason;
}
