/**
 * Enqueues tasks with a `dedupKey`, and replaces payloads. Calls of one tick and shard share a script call, in order.
 *
 * A path of its own beside the enqueuer: a plain enqueue knows nothing of keys, and costs what it did without them.
 */
import type { CommandArgument, RedisClient } from '@mortise/redis';
import { ArgumentTypeError, Coalescer } from '@mortise/redis';
import type { Enqueued, Enqueuer, Prepared } from './enqueuer.js';
import { MemoryFullError, QueueFullError, TaskConflictError } from '../errors.js';
import { DEFAULT_MAX_TASKS } from '../limits.js';
import { queueMerge } from '../scripts.gen.js';
import { isGone } from '../shard/settings.js';
import type { Shard } from '../shard/shard.js';
import type { Shards } from '../shard/shards.js';
import { isCurrent } from '../shard/shards.js';
import { newTaskId } from '../task/new-task-id.js';
import { payloadText, setPriority, whenOf } from '../task/record.js';
import { decodeTaskId, encodeTaskId } from '../task/task-id.js';
import type { KeyedEnqueueOptions, ResolvedMerge } from './merge-options.js';
import { elementsOf, resolveMerge } from './merge-options.js';

/** An entry of the script, once its shard is known. */
interface Entry {
  readonly bytes: number;
  operands(shard: Shard): readonly CommandArgument[];
}

const MAX_BATCH = 64;
const MAX_BATCH_BYTES = 4 * 1024 * 1024;
const LIMITS = {
  maxBatch: MAX_BATCH,
  maxBytes: MAX_BATCH_BYTES,
  bytesOf: ({ bytes }: Entry): number => bytes,
};
/** Answers of the script: the first character. */
const DONE = '1';
const FOUND = '0';
const CONFLICT = 'C';
const FULL = 'F';
const UNKNOWN = '-';
const ELSEWHERE = 'E';
/** In place of an answer: the number of shards has changed, so nothing was sent. */
const MOVED = Buffer.from('M');

export class Merger {
  readonly #redis: RedisClient;
  readonly #queue: string;
  readonly #shards: Shards;
  readonly #enqueuer: Enqueuer;
  readonly #maxPayloadBytes: number;
  readonly #entries = new Coalescer<Shard, Entry, Buffer>(
    (shard, batch) => MemoryFullError.wrap(this.#queue, this.#send(shard, batch)),
    LIMITS,
  );
  /** For shards of an earlier number; see `Enqueuer`. */
  readonly #toEarlier = new Coalescer<Shard, Entry, Buffer>(
    (shard, batch) => MemoryFullError.wrap(this.#queue, this.#send(shard, batch, true)),
    LIMITS,
  );

  constructor(
    redis: RedisClient,
    queue: string,
    shards: Shards,
    enqueuer: Enqueuer,
    maxPayloadBytes: number,
  ) {
    this.#redis = redis;
    this.#queue = queue;
    this.#shards = shards;
    this.#enqueuer = enqueuer;
    this.#maxPayloadBytes = maxPayloadBytes;
  }

  /** Reads the payload now. Rejects as `Queue.enqueue` does. */
  async enqueue(name: string, payload: unknown, options: KeyedEnqueueOptions): Promise<Enqueued> {
    const { merge, others } = resolveMerge(payload, options);
    if (merge.mode === 'A' && this.#shards.codecs)
      throw new ArgumentTypeError("onDuplicate 'append' excludes codecs: Redis joins the arrays");
    const prepared = this.#enqueuer.prepare(name, payload, others);
    const elements = elementsOf(payload);
    await prepared.checking;
    if (!this.#enqueuer.isOpen) await this.#enqueuer.open();
    return this.#merge(prepared, merge, elements);
  }

  /** Resolves to whether a task that is neither active nor succeeded has this id. */
  async setPayload(id: string, payload: unknown): Promise<boolean> {
    const storedId = encodeTaskId(id);
    // The name is that of the stored task, which the caller doesn't give: so no schema checks the payload.
    const { stored } = payloadText(id, payload, this.#maxPayloadBytes, this.#shards.codecs);
    const operands = ['P', storedId, '', stored, 0, elementsOf(payload), 0, 0];
    const entry = { bytes: stored.length, operands: () => operands };
    const look = async (shard: Shard): Promise<string | null> => {
      await shard.enableOptional();
      const text = (await this.#entries.submit(shard, entry)).toString('latin1');
      return text === UNKNOWN ? null : text;
    };
    try {
      for (;;) {
        const answer = await this.#shards.find(storedId, look);
        if (answer !== MOVED.toString()) return answer === DONE;
      }
    } catch (error) {
      if (isGone(error)) return false;
      throw error;
    }
  }

  async #merge(prepared: Prepared, merge: ResolvedMerge, elements: number): Promise<Enqueued> {
    const all = await this.#shards.open();
    const { group = '', priority, record } = prepared;
    const { count } = this.#shards;
    const placed = { storedId: undefined, group: group || merge.key };
    const shard = all[this.#shards.indexOf(placed, count)]!;
    this.#enqueuer.check(prepared);
    const { id, storedId } = newTaskId(shard.index, count);
    const encoded = record.encode();
    const entry: Entry = {
      bytes: encoded.length,
      operands: ({ settings }) => {
        setPriority(encoded, settings.priorityIndex(priority));
        const { mode, key, maxElements } = merge;
        const keyOfGroup = `${group.length}:${group}${key}`;
        const limits = [elements, maxElements, this.#maxPayloadBytes];
        return [mode, storedId, keyOfGroup, encoded, whenOf(encoded, 0), ...limits];
      },
    };
    try {
      for (const earlier of this.#shards.earlierHomes(placed)) {
        await earlier.enableOptional();
        const answer = await this.#toEarlier.submit(earlier, entry);
        if (answer[0] === MOVED[0]) return await this.#merge(prepared, merge, elements);
        if (answer.toString('latin1') !== ELSEWHERE) return this.#answer(answer, id, earlier);
      }
      await shard.enableOptional();
      const answer = await this.#entries.submit(shard, entry);
      return answer[0] === MOVED[0]
        ? await this.#merge(prepared, merge, elements)
        : this.#answer(answer, id, shard);
    } catch (error) {
      if (!isGone(error)) throw error;
      await this.#enqueuer.reopen();
      return this.#merge(prepared, merge, elements);
    }
  }

  #answer(answer: Buffer, id: string, { settings }: Shard): Enqueued {
    const kind = String.fromCharCode(answer[0]!);
    if (kind === DONE) return { id, isDuplicate: false };
    if (kind === FULL) throw new QueueFullError(this.#queue, settings.values.maxTasks ?? DEFAULT_MAX_TASKS);
    const other = decodeTaskId(answer.subarray(1));
    if (kind === FOUND) return { id: other, isDuplicate: true };
    if (kind !== CONFLICT) throw new Error(`unexpected answer ${kind} of queue.merge`);
    const what = 'of this dedupKey, with another name or no array as payload';
    throw new TaskConflictError(this.#queue, other, [], what);
  }

  async #send(shard: Shard, batch: readonly Entry[], isEarlier = false): Promise<readonly Buffer[]> {
    const reply = await shard.call(async (keys, { expectedSettings, publish }) => {
      if (!isCurrent(shard)) return batch.map(() => MOVED);
      return queueMerge.runBuffer(this.#redis, keys, {
        expectedSettings,
        publish,
        isEarlier: isEarlier ? 1 : 0,
        entries: batch.flatMap((entry) => entry.operands(shard)),
      });
    });
    return reply as Buffer[];
  }
}
