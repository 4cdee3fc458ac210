/**
 * The producer's side of a queue: stores tasks and looks at them.
 *
 * A task is one record in one hash; its state is the place where its id stands, and what `attempts` says of its last
 * attempt:
 *
 *   enqueue ──► ready ──────────► active ──► succeeded
 *      │          ▲                 │ │ │
 *      └► scheduled (when due)      │ │ └──► dead        no attempts left, Discard, unknown name
 *                 ▲                 │ └────► retrying    failed, RetryLater
 *                 └─── when due ────┼───────────┘
 *                 └─── lease ended, given back
 *
 * There is no step that moves due tasks from the schedule to the ready list: a claim takes what is due from the
 * schedule itself. So nothing can be lost or late between two steps, and counts are exact at every instant.
 * Rejected: a hash per task (663 bytes for a waiting task of 100 bytes, here about 200), a stream (cannot be ordered
 * by priority or cancelled in the middle).
 */
import type { RedisClient } from '@mortise/redis';
import { Coalescer, requireClient, requireInteger, requireName, WaiterHub } from '@mortise/redis';
import { QueueKeys } from './keys.js';
import { Lanes } from './lanes.js';
import { newTaskId } from './new-task-id.js';
import type { EnqueueOptions, QueueOptions } from './options.js';
import {
  DEFAULTS,
  requireTaskName,
  resolveAttempts,
  resolveBackoff,
  resolveHeaders,
  resolveWhen,
} from './options.js';
import type { Extras } from './record.js';
import { encodeRecord, setLane } from './record.js';
import { queueCounts, queueEnqueue, queueGet } from './scripts.gen.js';
import { encodeTaskId } from './task-id.js';
import type { Counts, NewTask, Task, TaskMap } from './task.js';
import { readTask } from './task.js';

/**
 * Tasks in one script call: holds the server for 0.2 ms. With larger ones the server would wait for the client and the
 * client for the server in turn: 100 producers store 155,000 tasks a second with 64, and 112,000 with 500.
 */
const MAX_BATCH = 64;
const MAX_BATCH_BYTES = 4 * 1024 * 1024;

interface Enqueue {
  readonly id: string;
  readonly storedId: Buffer;
  readonly priority: string | undefined;
  readonly record: Buffer;
}

/** What became of an enqueue. */
export interface Enqueued {
  readonly id: string;
  /** The id was stored before; that task is unchanged. */
  readonly isDuplicate: boolean;
}

export class Queue<Tasks extends TaskMap<Tasks> = Record<string, unknown>> {
  readonly name: string;
  readonly #redis: RedisClient;
  readonly #keys: QueueKeys;
  readonly #lanes: Lanes;
  readonly #maxPayloadBytes: number;
  readonly #enqueues = new Coalescer<Queue<Tasks>, Enqueue, boolean>((_, batch) => this.#send(batch), {
    maxBatch: MAX_BATCH,
    maxBytes: MAX_BATCH_BYTES,
    bytesOf: ({ record }) => record.length,
  });

  /**
   * @param redis A client of ioredis. It is used as it is and never closed.
   * @param name 1 to 1,024 bytes, any characters. A queue comes into being with its first task.
   */
  constructor(redis: RedisClient, name: string, options: QueueOptions = {}) {
    this.#redis = requireClient(redis);
    this.name = requireName('name', name);
    this.#keys = new QueueKeys(name, options.prefix);
    this.#lanes = new Lanes(name, this.#keys, options.priorities);
    this.#maxPayloadBytes = requireInteger(
      'maxPayloadBytes',
      options.maxPayloadBytes ?? DEFAULTS.maxPayloadBytes,
      { min: 2, max: 64 * 1024 * 1024 },
    );
  }

  /**
   * Stores a task; resolves when Redis has accepted it. Calls of one tick share one script call. A lost reply may mean
   * that the task is stored: with an `id` of your own, enqueue again and it is stored once. An id is remembered as
   * long as its task: while it waits or runs, and after that as long as it is retained.
   *
   * One round trip, O(log n) for a delayed task, else O(1); one more, once, where no priorities were named. Rejects with
   * ERR_INVALID_PAYLOAD, ERR_PAYLOAD_TOO_LARGE, ERR_PRIORITIES_MISMATCH, or TypeError and RangeError for options; then
   * nothing is stored.
   */
  async enqueue<Name extends keyof Tasks & string>(
    name: Name,
    payload: Tasks[Name],
    options: EnqueueOptions = {},
  ): Promise<Enqueued> {
    const request = this.#prepare(name, payload, options);
    if (!this.#lanes.isKnown) await this.#lanes.learn(this.#redis);
    return this.#submit(request);
  }

  /**
   * Stores many tasks, in order. All are checked before the first is sent; 64 travel in one call, each call is atomic.
   * Rejects as `enqueue` does; when Redis fails in the middle, some calls may have stored theirs.
   */
  async enqueueMany(tasks: readonly NewTask<Tasks>[]): Promise<Enqueued[]> {
    const requests = tasks.map(({ name, payload, options = {} }) => this.#prepare(name, payload, options));
    if (!this.#lanes.isKnown) await this.#lanes.learn(this.#redis);
    for (const { priority } of requests) this.#lanes.laneOf(priority);
    return Promise.all(requests.map((request) => this.#submit(request)));
  }

  /** The task, or null when the id is unknown or no longer retained. One round trip, read-only, O(log n). */
  async get(id: string): Promise<Task<Tasks> | null> {
    const stored = encodeTaskId(id);
    const reply = await this.#lanes.run(() =>
      queueGet.runBuffer(
        this.#redis,
        {
          priorities: this.#keys.priorities,
          tasks: this.#keys.tasks,
          attempts: this.#keys.attempts,
          active: this.#keys.active,
          lanes: this.#lanes.keys,
        },
        { names: this.#lanes.argument, id: stored },
      ),
    );
    return reply === null ? null : readTask<Tasks>(id, this.#lanes.names, reply as Buffer[]);
  }

  /** How many tasks are in each state, exact at one instant. One round trip, read-only, O(log n). */
  async counts(): Promise<Counts> {
    const reply = await this.#lanes.run(() =>
      queueCounts.run(
        this.#redis,
        {
          priorities: this.#keys.priorities,
          active: this.#keys.active,
          succeeded: this.#keys.succeeded,
          dead: this.#keys.dead,
          lanes: this.#lanes.keys,
        },
        { names: this.#lanes.argument },
      ),
    );
    const [scheduled, ready, active, retrying, succeeded, dead] = (reply as unknown[]).map(Number) as [
      number,
      number,
      number,
      number,
      number,
      number,
    ];
    return { scheduled, ready, active, retrying, succeeded, dead };
  }

  /** Takes the payload as it is now: the caller may change it afterwards. */
  #prepare(name: string, payload: unknown, options: EnqueueOptions): Enqueue {
    const { id, priority, attempts, headers, backoff } = options;
    const newRecord = {
      name: requireTaskName(name),
      payload,
      attempts: resolveAttempts(attempts),
      when: resolveWhen(options),
      extras: resolveExtras(headers, backoff),
    };
    const ids = id === undefined ? newTaskId() : { id, storedId: encodeTaskId(id) };
    return { ...ids, priority, record: encodeRecord(newRecord, this.#maxPayloadBytes) };
  }

  async #submit(request: Enqueue): Promise<Enqueued> {
    this.#lanes.laneOf(request.priority);
    const isNew = await this.#enqueues.submit(this, request);
    return { id: request.id, isDuplicate: !isNew };
  }

  async #send(batch: readonly Enqueue[]): Promise<(boolean | Error)[]> {
    const { priorities, tasks, idle, timekeeper } = this.#keys;
    const refused = new Map<Enqueue, Error>();
    const reply = await this.#lanes.run(() => {
      const entries: Buffer[] = [];
      refused.clear();
      for (const request of batch) {
        try {
          setLane(request.record, this.#lanes.laneOf(request.priority));
          entries.push(request.storedId, request.record);
        } catch (error) {
          // Others have come to be stored since it was checked.
          refused.set(request, error as Error);
        }
      }
      if (entries.length === 0) return Promise.resolve('');
      return queueEnqueue.run(
        this.#redis,
        { priorities, tasks, idle, timekeeper, lanes: this.#lanes.keys },
        { names: this.#lanes.argument, publish: WaiterHub.of(this.#redis).publishCommand, entries },
      );
    });
    const flags = (reply as string)[Symbol.iterator]();
    return batch.map((request) => refused.get(request) ?? flags.next().value === '1');
  }
}

function resolveExtras(
  headers: EnqueueOptions['headers'],
  backoff: EnqueueOptions['backoff'],
): Extras | undefined {
  if (headers === undefined && backoff === undefined) return undefined;
  const own = resolveHeaders(headers);
  if (!own && backoff === undefined) return undefined;
  return { ...(own && { headers: own }), ...(backoff !== undefined && { backoff: resolveBackoff(backoff) }) };
}
