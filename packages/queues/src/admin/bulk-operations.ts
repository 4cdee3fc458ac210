/**
 * Operations on all tasks of a state that match a filter. One runs in the process that was asked for it, page by page, and writes how
 * far it is each second; any process reads that. Its changes stay when its process ends before it: it is `interrupted` then, and a
 * new one does the rest. Rejected: a queue of operations, since no worker may serve the queue that a person looks at.
 */
import { randomUUID } from 'node:crypto';

import type { OnError, RedisClient } from '@mortise/redis';
import {
  ArgumentRangeError,
  callRedis,
  ErrorReporter,
  requireClient,
  requireInteger,
  requireName,
  requireOptions,
  requireSignal,
} from '@mortise/redis';

import { operationChannel, operationKey } from './keys.js';
import type { Queue } from '../queue.js';
import type { TaskMap } from '../task/task.js';
import type { BulkOperation, BulkRequest, ResolvedRequest } from './bulk-request.js';
import { resolveRequest } from './bulk-request.js';
import { BulkRun } from './bulk-run.js';
import { followOperation, publishWrite } from './follow-operation.js';
import { OperationConflictError, TooManyOperationsError } from './errors.js';

/** A day. */
const KEPT_MS = 86_400_000;
/** Written this often while it runs. */
const BEAT_MS = 1_000;
/** A running operation that was not written for this time has lost its process. */
const SILENT_MS = 10_000;

export interface BulkOperationsOptions {
  /** The prefix of the operations' keys. The prefix of the queues keeps tenants apart. Default `mortise`. */
  readonly prefix?: string | undefined;
  /** Operations of this object that run at the same time. 1 to 1,000. Default 4. */
  readonly maxRunning?: number | undefined;
  /** Gets the error of an operation that failed. Default: a line on stderr. */
  readonly onError?: OnError | undefined;
}

export interface BulkStartOptions {
  /** 1 to 1,024 bytes. The same request under the same id starts nothing. Default: a new one. */
  readonly id?: string | undefined;
}

export interface BulkFollowOptions {
  /** Ends the iteration, without an error. */
  readonly signal?: AbortSignal | undefined;
}

const OPTIONS = new Set(['prefix', 'maxRunning', 'onError']);
const START_OPTIONS = new Set(['id']);
const FOLLOW_OPTIONS = new Set(['signal']);
const MOST_RUNNING = 1_000;

/** Runs bulk operations on queues. Every process with the same prefix can read how far each operation is. */
export class BulkOperations implements AsyncDisposable {
  readonly #redis: RedisClient;
  readonly #prefix: string | undefined;
  readonly #maxRunning: number;
  readonly #errors: ErrorReporter;
  readonly #running = new Set<Promise<void>>();
  #ending = new AbortController();
  #starting = 0;

  /** @param redis An ioredis client, used as it is and never closed. */
  constructor(redis: RedisClient, options: BulkOperationsOptions = {}) {
    this.#redis = requireClient(redis);
    const { prefix, maxRunning = 4, onError } = requireOptions('BulkOperations', options, OPTIONS);
    this.#prefix = prefix;
    this.#maxRunning = requireInteger('maxRunning', maxRunning, { min: 1, max: MOST_RUNNING });
    this.#errors = new ErrorReporter('mortise bulk operations', onError);
  }

  /** How many operations of this object run. */
  get running(): number {
    return this.#running.size + this.#starting;
  }

  /**
   * Starts an operation on all matching tasks of a state, and resolves when the operation is stored. The operation runs in this
   * process, 20 tasks at a time, and is not atomic. Tasks that reach the state meanwhile may or may not be changed.
   *
   * Pass an `id` of your own to repeat the call after a lost reply: an operation of this id is returned, not started again. An
   * operation is kept for a day after its last write. One round trip, two with an `id` that is taken, and one more for the
   * action `set-priority`.
   *
   * Rejects with ERR_TOO_MANY_OPERATIONS, ERR_OPERATION_CONFLICT for an id of another request, ERR_RUN_AT_PAST, and
   * ERR_INVALID_ARG, also for a priority that the queue doesn't have. Then nothing is started.
   */
  async start<Tasks extends TaskMap<Tasks>>(
    queue: Queue<Tasks>,
    request: BulkRequest,
    options: BulkStartOptions = {},
  ): Promise<BulkOperation> {
    const wanted = { queue: queue.name, ...resolveRequest(request) };
    const { id = randomUUID() } = requireOptions('start', options, START_OPTIONS);
    requireName('id', id);
    // An operation of the id is returned also where no other one may run.
    const earlier = options.id === undefined ? null : await this.get(id);
    if (earlier) return requireSame(earlier, wanted);
    if (this.running >= this.#maxRunning) throw new TooManyOperationsError(this.#maxRunning);
    const { signal } = this.#ending;
    this.#starting += 1;
    try {
      await requirePriority(queue as unknown as Queue, request.priority);
      const now = Date.now();
      const counts = { status: 'running', changed: 0, skipped: 0, startedAt: now, updatedAt: now } as const;
      const operation: BulkOperation = { id, ...wanted, ...counts };
      if (!(await this.#store(operation))) return requireSame((await this.get(id))!, wanted);
      const run = this.#run(new BulkRun(queue as unknown as Queue, operation), signal).finally(() =>
        this.#running.delete(run),
      );
      this.#running.add(run);
      return operation;
    } finally {
      this.#starting -= 1;
    }
  }

  /** How far an operation is, or null for an unknown id and a day after the end. One round trip, read-only, O(1). */
  async get(id: string): Promise<BulkOperation | null> {
    const text = (await callRedis(this.#redis, 'get', [this.#keyOf(id)])) as string | null;
    if (text === null) return null;
    const operation = JSON.parse(text) as BulkOperation;
    const isLost = operation.status === 'running' && Date.now() - operation.updatedAt > SILENT_MS;
    return isLost ? { ...operation, status: 'interrupted' } : operation;
  }

  /**
   * Yields how far an operation is now, and then each change, about one a second, until it has ended. The last value has
   * another status than `running`. Yields nothing for an unknown id. No poll is needed: the process of the operation publishes
   * its changes. The operation of a lost process is `interrupted` after ten seconds. All followers of the client share one
   * subscription, and each value costs one read-only round trip, O(1). After an error, continue with a new call. Rejects with
   * ERR_CLIENT_CLOSED and errors of Redis.
   */
  follow(id: string, options: BulkFollowOptions = {}): AsyncGenerator<BulkOperation, void> {
    const { signal } = requireOptions('follow', options, FOLLOW_OPTIONS);
    return followOperation(this.#redis, {
      channel: operationChannel(this.#prefix, requireName('id', id)),
      read: () => this.get(id),
      silentMs: SILENT_MS,
      signal: requireSignal(signal),
    });
  }

  /**
   * Interrupts the operations of this object, and resolves when they are stored as `interrupted`. Idempotent. Operations that
   * are started later run.
   */
  async stop(): Promise<void> {
    this.#ending.abort();
    this.#ending = new AbortController();
    await Promise.all(this.#running);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  /** Never rejects. */
  async #run(run: BulkRun, signal: AbortSignal): Promise<void> {
    const channel = operationChannel(this.#prefix, run.operation.id);
    const write = async (): Promise<void> => {
      await this.#write({ ...run.operation, updatedAt: Date.now() });
      await publishWrite(this.#redis, channel);
    };
    // Only the last write counts: a progress that was not written is in the next one.
    const beat = setInterval(() => void write().catch(() => undefined), BEAT_MS);
    try {
      await run.toEnd(signal);
    } catch (error) {
      this.#errors.report(error);
    }
    clearInterval(beat);
    await write().catch((error: unknown) => this.#errors.report(error));
  }

  /** Resolves to false for an id that is taken. */
  async #store(operation: BulkOperation): Promise<boolean> {
    return (await this.#write(operation, 'NX')) !== null;
  }

  #write(operation: BulkOperation, ...condition: 'NX'[]): Promise<unknown> {
    const text = JSON.stringify(operation);
    return callRedis(this.#redis, 'set', [this.#keyOf(operation.id), text, ...condition, 'PX', KEPT_MS]);
  }

  #keyOf(id: string): string {
    return operationKey(this.#prefix, id);
  }
}

/** A priority that the queue doesn't have would fail at each task. */
async function requirePriority(queue: Queue, priority: string | undefined): Promise<void> {
  if (priority === undefined) return;
  const { priorities } = await queue.settings();
  if (!priorities.includes(priority))
    throw new ArgumentRangeError(
      `priority must be one of ${priorities.join(', ')}, got ${JSON.stringify(priority)}`,
    );
}

function requireSame(
  earlier: BulkOperation,
  wanted: ResolvedRequest & { readonly queue: string },
): BulkOperation {
  const { id, status: _1, changed: _2, skipped: _3, startedAt: _4, updatedAt: _5, ...its } = earlier;
  if (textOf(its) !== textOf(wanted)) throw new OperationConflictError(id);
  return earlier;
}

function textOf(request: object): string {
  return JSON.stringify(Object.entries(request).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
