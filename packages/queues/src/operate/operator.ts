/**
 * What an operator, or a producer, does to single tasks by their ids. Calls of one tick and shard share a script call.
 *
 * A task that is cancelled or removed in the middle of the list of its priority stays there as an entry, since taking it out
 * would be O(n): it is a tombstone, which the hash `tombstones` remembers and workers skip (see task.leave.part.lua). Counts take
 * them into account, and an id that is used again while its hole is still there is another entry.
 * Rejected: an entry that is recognised as void because its record is gone or says so, which fails for an id that is used
 * again; and a sorted set in place of the list, which costs every task 100 bytes.
 */
import type { CommandArgument } from '@mortise/redis';
import { Coalescer } from '@mortise/redis';
import { TaskActiveError } from '../errors.js';
import { operatorCancel, operatorPromote, operatorRemove, operatorRetry } from '../scripts.gen.js';
import type { Shard } from '../shard/shard.js';
import type { Shards } from '../shard/shards.js';
import { encodeTaskId } from '../task/task-id.js';

interface Cancel {
  readonly storedId: Buffer;
  readonly reason: string;
}

interface Retry {
  readonly storedId: Buffer;
  /** The state that the task must have, as in `attempts`; `*` for any. */
  readonly only: 'D' | 'C' | '*';
}

/** Tasks in one call: bounds how long it holds the server. */
const MAX_BATCH = 100;
/** What the scripts answer for a task that is in no such shard. */
const UNKNOWN = '-';
const DONE = '1';
const ACTIVE = 'A';

export class Operator {
  readonly #queue: string;
  readonly #shards: Shards;
  readonly #keepCancelled: number;
  readonly #cancels = new Coalescer<Shard, Cancel, string>((...batch) => this.#sendCancels(...batch), {
    maxBatch: MAX_BATCH,
  });
  readonly #removals = new Coalescer<Shard, Buffer, string>((...batch) => this.#sendRemovals(...batch), {
    maxBatch: MAX_BATCH,
  });
  readonly #retries = new Coalescer<Shard, Retry, string>((...batch) => this.#sendRetries(...batch), {
    maxBatch: MAX_BATCH,
  });
  readonly #promotions = new Coalescer<Shard, Buffer, string>((...batch) => this.#sendPromotions(...batch), {
    maxBatch: MAX_BATCH,
  });

  constructor(queue: string, shards: Shards, keepCancelled: number) {
    this.#queue = queue;
    this.#shards = shards;
    this.#keepCancelled = keepCancelled;
  }

  async cancel(id: string, reason: string): Promise<boolean> {
    const storedId = encodeTaskId(id);
    const answer = await this.#find(storedId, (shard) => this.#cancels.submit(shard, { storedId, reason }));
    return answer === DONE;
  }

  async remove(id: string): Promise<boolean> {
    const storedId = encodeTaskId(id);
    const answer = await this.#find(storedId, (shard) => this.#removals.submit(shard, storedId));
    if (answer === ACTIVE) throw new TaskActiveError(this.#queue, id);
    return answer === DONE;
  }

  async retry(id: string): Promise<boolean> {
    const storedId = encodeTaskId(id);
    const answer = await this.#find(storedId, (shard) => this.retryIn(shard, storedId, '*'));
    return answer === DONE;
  }

  async promote(id: string): Promise<boolean> {
    const storedId = encodeTaskId(id);
    const answer = await this.#find(storedId, (shard) => this.#promotions.submit(shard, storedId));
    return answer === DONE;
  }

  /** Answers with `1` when the task is due now. */
  retryIn(shard: Shard, storedId: Buffer, only: Retry['only']): Promise<string> {
    return this.#retries.submit(shard, { storedId, only });
  }

  #find(storedId: Buffer, act: (shard: Shard) => Promise<string>): Promise<string | null> {
    return this.#shards.find(storedId, async (shard) => {
      const answer = await act(shard);
      return answer === UNKNOWN ? null : answer;
    });
  }

  async #sendCancels(shard: Shard, batch: readonly Cancel[]): Promise<string[]> {
    await shard.enableOptional();
    const entries = batch.flatMap<CommandArgument>(({ storedId, reason }) => [storedId, reason]);
    const reply = await shard.call((keys, common) =>
      operatorCancel.run(shard.redis, keys, { ...common, keepCancelled: this.#keepCancelled, entries }),
    );
    return answersOf(reply);
  }

  async #sendRemovals(shard: Shard, ids: readonly Buffer[]): Promise<string[]> {
    await shard.enableOptional();
    const reply = await shard.call((keys, common) =>
      operatorRemove.run(shard.redis, keys, { ...common, ids }),
    );
    return answersOf(reply);
  }

  async #sendRetries(shard: Shard, batch: readonly Retry[]): Promise<string[]> {
    const entries = batch.flatMap<CommandArgument>(({ storedId, only }) => [storedId, only]);
    const reply = await shard.call((keys, common) =>
      operatorRetry.run(shard.redis, keys, { ...common, entries }),
    );
    return answersOf(reply);
  }

  async #sendPromotions(shard: Shard, ids: readonly Buffer[]): Promise<string[]> {
    const reply = await shard.call((keys, common) =>
      operatorPromote.run(shard.redis, keys, { ...common, ids }),
    );
    return answersOf(reply);
  }
}

/** A character for each task. */
function answersOf(reply: unknown): string[] {
  return (reply as string).split('');
}
