/** The handler of a task name: a function, a function with options, or a function for many tasks at once. */
import {
  ArgumentTypeError,
  requireDuration,
  requireInteger,
  requireKnown,
  requireName,
} from '@mortise/redis';
import type { TaskContext } from './attempt.js';
import type { Backoff, BackoffFunction, ResolvedBackoff } from '../options.js';
import { resolveBackoffPolicy, resolveTimeoutMs } from '../options.js';
import type { PayloadIn, ResultIn } from '../task-types.js';

/** Runs one task. The result is stored with the task as JSON; a thrown error fails the attempt. */
export type HandlerFunction<Payload, Result = unknown> = (
  payload: Payload,
  context: TaskContext,
) => Result | Promise<Result>;

export interface HandlerOptions {
  /**
   * An attempt that takes longer fails with ERR_TASK_TIMEOUT, which aborts its signal. Its slot is free at once. The handler
   * may still run, but its outcome no longer counts. A `timeoutMs` of the task has precedence. 1 ms to 24 days. Default: none.
   */
  readonly timeoutMs?: number | undefined;
  /**
   * The backoff of this handler's tasks. It takes precedence over the backoff of the worker; the backoff of a task takes
   * precedence over it.
   */
  readonly backoff?: Backoff | BackoffFunction | undefined;
  /**
   * Simultaneous calls of this handler in this worker. Further tasks go back to the queue for a moment, so tasks of other names
   * can run. The return does not count as an attempt. 1 to 10,000. Default: only the worker's limit.
   */
  readonly concurrency?: number | undefined;
  /**
   * The queues whose tasks this handler runs. Tasks of other queues are treated as without a handler. Default: all queues of
   * the worker.
   */
  readonly queues?: readonly string[] | undefined;
}

export interface HandlerObject<Payload, Result = unknown> extends HandlerOptions {
  handle(payload: Payload, context: TaskContext): Result | Promise<Result>;
}

/** One task of a batch. */
export interface BatchTask<Payload> {
  readonly payload: Payload;
  /** Each task has its own lease, signal and attempt number. */
  readonly ctx: TaskContext;
}

/** The results in the order of the tasks; may be void if a result may be undefined. */
type Results<Result> = readonly (Result | Error)[] | (undefined extends Result ? void : never);

/**
 * Runs many tasks of one name in one call. Returns nothing, or an array with the result of each task in their order. An Error
 * in the array fails that task alone, as if a handler had thrown it (also Discard and RetryLater). A thrown error, or an array
 * of another length, fails the attempts of all tasks in the batch.
 */
export interface BatchHandler<Payload, Result = unknown> extends HandlerOptions {
  /** Runs the tasks of a batch. */
  handleMany(tasks: readonly BatchTask<Payload>[]): Results<Result> | Promise<Results<Result>>;
  /** The most tasks in one call. Each takes a slot of the worker. 1 to the concurrency of the worker. */
  readonly maxSize: number;
  /**
   * Batch window: how long the first task waits for others, ms; 0 to an hour. Default 0: a batch has the tasks of one reply of
   * Redis.
   */
  readonly waitMs?: number | undefined;
}

export type Handler<Payload, Result = unknown> =
  | HandlerFunction<Payload, Result>
  | HandlerObject<Payload, Result>
  | BatchHandler<Payload, Result>;

/** A handler for each name of task that the worker knows. */
export type Handlers<Tasks> = {
  readonly [Name in keyof Tasks]: Handler<PayloadIn<Tasks[Name]>, ResultIn<Tasks[Name]>>;
};

export interface ResolvedHandler {
  readonly name: string;
  readonly handle: HandlerFunction<unknown> | undefined;
  readonly handleMany: BatchHandler<unknown>['handleMany'] | undefined;
  readonly timeoutMs: number | undefined;
  readonly backoff: ResolvedBackoff | BackoffFunction | undefined;
  /** Simultaneous calls; Infinity by default. */
  readonly maxCalls: number;
  readonly maxSize: number;
  readonly waitMs: number;
  /** Undefined: all. */
  readonly queues: ReadonlySet<string> | undefined;
}

const MAX_WAIT_MS = 3_600_000;
const OPTIONS = ['timeoutMs', 'backoff', 'concurrency', 'queues'];
const HANDLER = new Set(['handle', ...OPTIONS]);
const BATCH_HANDLER = new Set(['handleMany', 'maxSize', 'waitMs', ...OPTIONS]);

/** Throws TypeError or RangeError for a wrong handler, naming it. */
export function resolveHandlers(handlers: object, concurrency: number): ReadonlyMap<string, ResolvedHandler> {
  if (typeof handlers !== 'object' || handlers === null || Array.isArray(handlers)) {
    throw new ArgumentTypeError(
      "handlers must be an object with a handler for each name of task, as { 'mail.send': (payload) => … }",
    );
  }
  const entries = Object.entries(handlers as Record<string, unknown>);
  // Without a handler every task would be dead-lettered.
  if (entries.length === 0)
    throw new ArgumentTypeError('handlers must have a handler for at least one name of task');
  return new Map(entries.map(([name, handler]) => [name, resolveHandler(name, handler, concurrency)]));
}

function resolveHandler(name: string, handler: unknown, concurrency: number): ResolvedHandler {
  const none = { name, handleMany: undefined, timeoutMs: undefined, backoff: undefined, queues: undefined };
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
  // An instance of a class may have other fields.
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
    ...(options.queues !== undefined && {
      queues: new Set(requireQueues(`queues of ${name}`, options.queues)),
    }),
    ...(handleMany && {
      maxSize: requireInteger(`maxSize of ${name}`, options.maxSize, { min: 1, max: concurrency }),
      waitMs: requireDuration(`waitMs of ${name}`, options.waitMs ?? 0, { min: 0, max: MAX_WAIT_MS }),
    }),
  };
}

function requireQueues(option: string, queues: readonly string[]): readonly string[] {
  if (!Array.isArray(queues) || queues.length === 0)
    throw new ArgumentTypeError(`${option} must be a list of one or more names, as ['mail']`);
  return queues.map((queue: string) => requireName('queue', queue));
}

/** The handler of the name, if it runs tasks of the queue. */
export function handlerOf(
  handlers: ReadonlyMap<string, ResolvedHandler>,
  { name, queue }: { readonly name: string; readonly queue: string },
): ResolvedHandler | undefined {
  const handler = handlers.get(name);
  return !handler?.queues || handler.queues.has(queue) ? handler : undefined;
}
