/** What runs the tasks of one name: a function, the same with options, or a function for many tasks at once. */
import { ArgumentTypeError, requireDuration, requireInteger, requireKnown } from '@mortise/redis';
import type { TaskContext } from './attempt.js';
import type { Backoff, BackoffFunction } from '../options.js';
import { resolveBackoffPolicy, resolveTimeoutMs } from '../options.js';

/** Runs one task. Its result is kept with the task as JSON; what it throws is a failed attempt. */
export type HandlerFunction<Payload> = (payload: Payload, context: TaskContext) => unknown;

export interface HandlerOptions {
  /**
   * An attempt that takes longer fails with ERR_TASK_TIMEOUT, which aborts its signal. Its slot is free at once, though the
   * handler may still run; what comes of it no longer counts. A `timeoutMs` of the task goes before. 1 ms to 24 days.
   * Default: none.
   */
  readonly timeoutMs?: number;
  /** Before the backoff of the worker and after that of a task. */
  readonly backoff?: Backoff | BackoffFunction;
  /**
   * Calls of this handler that run at the same time in this worker. What comes beyond that is handed back to the queue, to
   * be offered again within moments, so tasks of other names go on; it doesn't count as an attempt. 1 to 10,000. Default:
   * no limit but that of the worker.
   */
  readonly concurrency?: number;
}

export interface HandlerObject<Payload> extends HandlerOptions {
  handle(payload: Payload, context: TaskContext): unknown;
}

/** One task of a batch. */
export interface BatchTask<Payload> {
  readonly payload: Payload;
  /** Each task has its own lease, signal and count of attempts. */
  readonly ctx: TaskContext;
}

/**
 * Runs many tasks of one name in one call. Returns nothing, or an array with the result of each task in their order: an
 * Error in it is the failure of that task alone, and counts as if a handler had thrown it (Discard and RetryLater, too).
 * What is thrown is a failed attempt of every task in the batch, as is an array of another length.
 */
export interface BatchHandler<Payload> extends HandlerOptions {
  handleMany(
    tasks: readonly BatchTask<Payload>[],
  ): readonly unknown[] | void | Promise<readonly unknown[] | void>;
  /** Tasks in one call at most. Each takes a slot of the worker. 1 to the concurrency of the worker. */
  readonly maxSize: number;
  /**
   * How long the first task of a batch waits for others, ms; 0 to an hour. Default 0: a batch is what came with one reply of
   * Redis.
   */
  readonly waitMs?: number;
}

export type Handler<Payload> = HandlerFunction<Payload> | HandlerObject<Payload> | BatchHandler<Payload>;

/** A handler for each name of task that the worker knows. */
export type Handlers<Tasks> = { readonly [Name in keyof Tasks]: Handler<Tasks[Name]> };

export interface ResolvedHandler {
  readonly name: string;
  readonly handle: HandlerFunction<unknown> | undefined;
  readonly handleMany: BatchHandler<unknown>['handleMany'] | undefined;
  readonly timeoutMs: number | undefined;
  readonly backoff: Required<Backoff> | BackoffFunction | undefined;
  /** Calls at the same time; Infinity when nothing is said. */
  readonly maxCalls: number;
  readonly maxSize: number;
  readonly waitMs: number;
}

const MAX_WAIT_MS = 3_600_000;
const HANDLER = new Set(['handle', 'timeoutMs', 'backoff', 'concurrency']);
const BATCH_HANDLER = new Set(['handleMany', 'timeoutMs', 'backoff', 'concurrency', 'maxSize', 'waitMs']);

/** Throws TypeError or RangeError for what is no handler, naming it. */
export function resolveHandlers(handlers: object, concurrency: number): ReadonlyMap<string, ResolvedHandler> {
  if (typeof handlers !== 'object' || handlers === null || Array.isArray(handlers)) {
    throw new ArgumentTypeError('handlers must be an object with a handler for each name of task');
  }
  const entries = Object.entries(handlers as Record<string, unknown>);
  // It would put every task among the dead, for want of a handler.
  if (entries.length === 0)
    throw new ArgumentTypeError('handlers must have a handler for at least one name of task');
  return new Map(entries.map(([name, handler]) => [name, resolveHandler(name, handler, concurrency)]));
}

function resolveHandler(name: string, handler: unknown, concurrency: number): ResolvedHandler {
  const none = { name, handleMany: undefined, timeoutMs: undefined, backoff: undefined };
  const alone = { maxCalls: Infinity, maxSize: 1, waitMs: 0 };
  if (typeof handler === 'function') {
    return { ...none, ...alone, handle: handler as HandlerFunction<unknown> };
  }
  const options = (handler ?? {}) as Partial<HandlerObject<unknown> & BatchHandler<unknown>>;
  const { handle, handleMany } = options;
  if ((typeof handle === 'function') === (typeof handleMany === 'function')) {
    throw new ArgumentTypeError(
      `the handler of ${JSON.stringify(name)} must be a function, or have one named handle or handleMany`,
    );
  }
  // An instance of a class may have state of its own.
  if (Object.getPrototypeOf(options) === Object.prototype) {
    requireKnown(`the handler of ${JSON.stringify(name)}`, options, handle ? HANDLER : BATCH_HANDLER);
  }
  return {
    ...none,
    ...alone,
    handle: handle?.bind(options),
    handleMany: handleMany?.bind(options),
    timeoutMs: resolveTimeoutMs(options.timeoutMs),
    backoff: options.backoff === undefined ? undefined : resolveBackoffPolicy(options.backoff),
    ...(options.concurrency !== undefined && {
      maxCalls: requireInteger(`concurrency of ${name}`, options.concurrency, { min: 1, max: 10_000 }),
    }),
    ...(handleMany && {
      maxSize: requireInteger(`maxSize of ${name}`, options.maxSize, { min: 1, max: concurrency }),
      waitMs: requireDuration(`waitMs of ${name}`, options.waitMs ?? 0, { min: 0, max: MAX_WAIT_MS }),
    }),
  };
}
