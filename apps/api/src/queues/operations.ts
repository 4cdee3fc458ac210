/**
 * Operations on all tasks of a state that match a filter. One runs in the process that was asked for it, page by page, and writes how far it
 * is each second; any process reads that. Its changes stay when its process ends before it: it is `interrupted` then, and
 * a new one does the rest. Rejected: a queue of operations, since a worker of the deployment does not serve the other tenants.
 */
import { KeySpace } from '@mortise/redis';
import type { RedisClient } from '@mortise/redis';
import type { Queue, Task } from '@mortise/queues';
import type { BeforeApplicationShutdown } from '@nestjs/common';
import { Inject, Injectable } from '@nestjs/common';
import type { Logger } from 'pino';

import type { Config } from '../config.js';
import { Problem } from '../problems/problem.js';
import { PerTenant } from '../tenants/per-tenant.js';
import { currentTenant } from '../tenants/tenancy.js';
import { CONFIG, LOG, REDIS } from '../tokens.js';
import { OpenQueues } from './open-queues.js';
import type { Action, Operation } from './operation-schemas.js';
import { operationSchema } from './operation-schemas.js';
import { filterTasks } from './task-filter.js';

const KEPT_MS = 86_400_000;
/** Written this often while it runs. */
const BEAT_MS = 1_000;
/** A running operation that was not written for this time has lost its process. */
const SILENT_MS = 10_000;
/** Of one tenant in one process. */
const MOST_RUNNING = 4;
/** Tasks that are changed at the same time. */
const AT_ONCE = 20;
/** An instant that is no longer ago is now, as for an enqueued task. */
const PAST_MS = 60_000;

type Act = (queue: Queue, id: string, operation: Operation) => Promise<boolean>;

const ACTIONS: Readonly<Record<Action, Act>> = {
  retry: (queue, id) => queue.retry(id),
  promote: (queue, id) => queue.promote(id),
  cancel: (queue, id) => queue.cancel(id, { reason: 'a bulk operation' }),
  remove: (queue, id) => queue.remove(id),
  reschedule: (queue, id, operation) => {
    const runAt = dueAt(operation);
    // An instant that has passed is now, however long the operation takes. A task that is due stays where it is.
    return runAt > Date.now() ? queue.reschedule(id, { runAt }) : queue.promote(id);
  },
  'set-priority': (queue, id, { priority }) => queue.setPriority(id, priority!),
};

/** The same for all of its tasks. */
function dueAt({ startedAt, runAt, delayMs = 0 }: Operation): number {
  return runAt ?? startedAt + delayMs;
}

/** A moved task may be listed again, at its new place. */
function isDone(
  task: Pick<Task<Record<string, unknown>>, 'runAt' | 'priority'>,
  operation: Operation,
): boolean {
  if (operation.action === 'reschedule') return task.runAt === dueAt(operation);
  return operation.action === 'set-priority' && task.priority === operation.priority;
}

/** Throws the problems `run-at-past` and `invalid-body`, for what would fail at each task. */
async function requirePossible(queue: Queue, { action, runAt, priority }: Wish): Promise<void> {
  if (runAt !== undefined && runAt < Date.now() - PAST_MS) throw new Problem('run-at-past');
  if (action !== 'set-priority') return;
  const { priorities } = await queue.settings();
  if (priorities.includes(priority!)) return;
  const errors = [{ pointer: '/priority', message: `must be one of ${priorities.join(', ')}` }];
  throw new Problem('invalid-body', undefined, { errors });
}

type Wish = Omit<Operation, 'id' | 'status' | 'changed' | 'skipped' | 'startedAt' | 'updatedAt'>;
type Progress = { -readonly [Name in keyof Operation]: Operation[Name] };

@Injectable()
export class Operations implements BeforeApplicationShutdown {
  readonly #redis: RedisClient;
  readonly #log: Logger;
  readonly #keys: PerTenant<KeySpace>;
  readonly #ending = new AbortController();
  readonly #running = new Set<Promise<void>>();
  /** How many run, by tenant. */
  readonly #counts = new Map<string, number>();

  constructor(
    @Inject(REDIS) redis: RedisClient,
    @Inject(CONFIG) { MORTISE_PREFIX: prefix }: Config,
    @Inject(LOG) log: Logger,
    private readonly queues: OpenQueues,
  ) {
    this.#redis = redis;
    this.#log = log;
    this.#keys = new PerTenant(prefix, (its) => new KeySpace('api', its));
  }

  /**
   * Starts an operation, or returns the one of this id. Throws the problems `unknown-queue`, `too-many-operations`, `run-at-past`,
   * `invalid-body` for a priority that the queue doesn't have, and `request-reused` when the id belongs to another operation.
   */
  async start(id: string, wish: Wish): Promise<Operation> {
    return this.queues.use(wish.queue, async (queue) => {
      const now = Date.now();
      const counts = { status: 'running', changed: 0, skipped: 0, startedAt: now, updatedAt: now } as const;
      const operation: Progress = { id, ...wish, ...counts };
      const key = this.#keyOf(id);
      const earlier = await this.find(id);
      if (earlier) return sameWish(earlier, wish);
      await requirePossible(queue, wish);
      const leave = this.#enter();
      const text = JSON.stringify(operation);
      try {
        const isNew = await this.#redis.call('set', [key, text, 'NX', 'PX', KEPT_MS]);
        if (isNew === null) {
          leave();
          return sameWish((await this.find(id))!, wish);
        }
      } catch (error) {
        leave();
        throw error;
      }
      const run = this.#run(key, queue, operation).finally(() => {
        leave();
        this.#running.delete(run);
      });
      this.#running.add(run);
      return JSON.parse(text) as Operation;
    });
  }

  /** Counts one more of the tenant, until the returned function is called. Throws the problem `too-many-operations`. */
  #enter(): () => void {
    const tenant = currentTenant();
    const count = this.#counts.get(tenant) ?? 0;
    if (count >= MOST_RUNNING) throw new Problem('too-many-operations', undefined, { limit: MOST_RUNNING });
    this.#counts.set(tenant, count + 1);
    return () => {
      const left = this.#counts.get(tenant)! - 1;
      if (left === 0) this.#counts.delete(tenant);
      else this.#counts.set(tenant, left);
    };
  }

  /** One round trip. */
  async find(id: string): Promise<Operation | undefined> {
    const text = (await this.#redis.call('get', [this.#keyOf(id)])) as string | null;
    if (text === null) return undefined;
    const operation = operationSchema.parse(JSON.parse(text));
    const isLost = operation.status === 'running' && Date.now() - operation.updatedAt > SILENT_MS;
    return isLost ? { ...operation, status: 'interrupted' } : operation;
  }

  /** Before the client is closed. */
  async beforeApplicationShutdown(): Promise<void> {
    this.#ending.abort();
    await Promise.all(this.#running);
  }

  /** Never rejects. */
  async #run(key: string, queue: Queue, operation: Progress): Promise<void> {
    const write = async (): Promise<void> => {
      operation.updatedAt = Date.now();
      await this.#redis.call('set', [key, JSON.stringify(operation), 'PX', KEPT_MS]);
    };
    const beat = setInterval(() => void write().catch(() => undefined), BEAT_MS);
    try {
      operation.status = (await this.#act(queue, operation)) ? 'completed' : 'interrupted';
    } catch (error) {
      operation.status = 'failed';
      this.#log.warn({ err: error, operation: operation.id }, 'an operation on tasks has failed');
    }
    clearInterval(beat);
    await write().catch(() => undefined);
  }

  /** Returns whether it came to its end. */
  async #act(queue: Queue, operation: Progress): Promise<boolean> {
    const { action, state, limit } = operation;
    const { signal } = this.#ending;
    let cursor: string | null = null;
    do {
      const from = { limit: 200, ...(cursor !== null && { cursor }) };
      const page = await filterTasks(queue, state, operation, from);
      const tasks = page.tasks.filter((task) => !isDone(task, operation));
      for (let at = 0; at < tasks.length; at += AT_ONCE) {
        if (signal.aborted) return false;
        const done = await Promise.all(
          tasks.slice(at, at + AT_ONCE).map(({ id }) => ACTIONS[action](queue, id, operation)),
        );
        const changed = done.filter(Boolean).length;
        operation.changed += changed;
        operation.skipped += done.length - changed;
      }
      cursor = page.cursor;
    } while (cursor !== null && operation.changed < limit && !signal.aborted);
    return !signal.aborted;
  }

  /** `<prefix>:api:{operations}:operation:<id>`: STRING, JSON of the operation. */
  #keyOf(id: string): string {
    return this.#keys.current.entity('operations').key('operation', id);
  }
}

function sameWish(operation: Operation, wish: Partial<Operation>): Operation {
  const isSame = Object.entries(wish).every(([name, value]) => operation[name as 'id'] === value);
  if (isSame) return operation;
  throw new Problem('request-reused', undefined, { requestKey: operation.id });
}
