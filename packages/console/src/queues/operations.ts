/**
 * Operations on all tasks of a state that match a filter. One runs in the process that was asked for it, page by page, and writes how far it
 * is each second; any process reads that. Its changes stay when its process ends before it: it is `interrupted` then, and
 * a new one does the rest.
 */
import { randomUUID } from 'node:crypto';

import type { Queue, Task } from '@mortise/queues';
import { callRedis } from '@mortise/redis';
import type { RedisClient } from '@mortise/redis';

import { Problem } from '../http/problem.js';
import { operationKey } from '../keys.js';
import type { Wish } from './operation-wish.js';
import type { OpenQueues } from './open-queues.js';
import { filterTasks } from './task-filter.js';

const KEPT_MS = 86_400_000;
/** Written this often while it runs. */
const BEAT_MS = 1_000;
/** A running operation that was not written for this time has lost its process. */
const SILENT_MS = 10_000;
/** In one process. */
const MOST_RUNNING = 4;
/** Tasks that are changed at the same time. */
const AT_ONCE = 20;
const STEP = 200;

export interface Operation extends Wish {
  readonly id: string;
  readonly status: 'running' | 'completed' | 'interrupted' | 'failed';
  readonly changed: number;
  readonly skipped: number;
  readonly startedAt: number;
  readonly updatedAt: number;
}

type Progress = { -readonly [Name in keyof Operation]: Operation[Name] };

type Act = (queue: Queue, id: string, operation: Operation) => Promise<boolean>;

const ACTIONS: Readonly<Record<Wish['action'], Act>> = {
  retry: (queue, id) => queue.retry(id),
  promote: (queue, id) => queue.promote(id),
  cancel: (queue, id) => queue.cancel(id, { reason: 'a bulk operation' }),
  remove: (queue, id) => queue.remove(id),
  reschedule: (queue, id, operation) => queue.reschedule(id, { runAt: dueAt(operation) }),
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

export class Operations {
  readonly #redis: RedisClient;
  readonly #prefix: string;
  readonly #queues: OpenQueues;
  readonly #onError: (error: unknown) => void;
  readonly #ending = new AbortController();
  readonly #running = new Set<Promise<void>>();

  constructor(redis: RedisClient, prefix: string, queues: OpenQueues, onError: (error: unknown) => void) {
    this.#redis = redis;
    this.#prefix = prefix;
    this.#queues = queues;
    this.#onError = onError;
  }

  /** Starts an operation. Throws the problems `unknown-queue`, `too-many-operations` and `shutting-down`. */
  async start(wish: Wish): Promise<Operation> {
    return this.#queues.use(wish.queue, async (queue) => {
      if (this.#ending.signal.aborted) throw new Problem('shutting-down');
      if (this.#running.size >= MOST_RUNNING)
        throw new Problem('too-many-operations', '', { limit: MOST_RUNNING });
      const now = Date.now();
      const counts = { status: 'running', changed: 0, skipped: 0, startedAt: now, updatedAt: now } as const;
      const operation: Progress = { id: randomUUID(), ...wish, ...counts };
      const written = this.#write(operation);
      const first = { ...operation };
      const run = this.#run(queue, operation, written).finally(() => this.#running.delete(run));
      this.#running.add(run);
      // Its address is asked for at once.
      await written;
      return first;
    });
  }

  /** Throws the problem `unknown-operation`. One round trip. */
  async find(id: string): Promise<Operation> {
    const text = (await callRedis(this.#redis, 'get', [operationKey(this.#prefix, id)])) as string | null;
    if (text === null) throw new Problem('unknown-operation', '', { id });
    const operation = JSON.parse(text) as Operation;
    const isLost = operation.status === 'running' && Date.now() - operation.updatedAt > SILENT_MS;
    return isLost ? { ...operation, status: 'interrupted' } : operation;
  }

  /** Interrupts those that run, and waits for them. */
  async stop(): Promise<void> {
    this.#ending.abort();
    await Promise.all(this.#running);
  }

  /** Never rejects. */
  async #run(queue: Queue, operation: Progress, written: Promise<void>): Promise<void> {
    const beat = setInterval(() => void this.#write(operation).catch(() => undefined), BEAT_MS);
    try {
      await written;
      operation.status = (await this.#act(queue, operation)) ? 'completed' : 'interrupted';
    } catch (error) {
      operation.status = 'failed';
      this.#onError(error);
    }
    clearInterval(beat);
    await this.#write(operation).catch(this.#onError);
  }

  async #write(operation: Progress): Promise<void> {
    operation.updatedAt = Date.now();
    const key = operationKey(this.#prefix, operation.id);
    await callRedis(this.#redis, 'set', [key, JSON.stringify(operation), 'PX', KEPT_MS]);
  }

  /** Returns whether it came to its end. */
  async #act(queue: Queue, operation: Progress): Promise<boolean> {
    const { action, state, limit } = operation;
    const { signal } = this.#ending;
    let cursor: string | null = null;
    do {
      const from = { limit: STEP, ...(cursor !== null && { cursor }) };
      const page = await filterTasks(queue, state, operation, from);
      const tasks = page.tasks.filter((task) => !isDone(task, operation));
      for (let at = 0; at < tasks.length; at += AT_ONCE) {
        if (signal.aborted) return false;
        const acts = tasks.slice(at, at + AT_ONCE).map(({ id }) => ACTIONS[action](queue, id, operation));
        const changed = (await Promise.all(acts)).filter(Boolean).length;
        operation.changed += changed;
        operation.skipped += acts.length - changed;
      }
      cursor = page.cursor;
    } while (cursor !== null && operation.changed < limit && !signal.aborted);
    return !signal.aborted;
  }
}
