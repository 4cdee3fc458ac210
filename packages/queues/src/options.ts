import type {
  Backoff as PlainBackoff,
  PayloadCodec,
  Resolved,
  ResolvedBackoff as ResolvedPlainBackoff,
  Telemetry,
} from '@mortise/redis';
import {
  ArgumentRangeError,
  ArgumentTypeError,
  Codecs,
  requireArray,
  requireDuration,
  requireFunction,
  requireInteger,
  requireName,
  requireObject,
  requireOneOf,
  requireOptions,
  requireText,
  resolveBackoff as resolveTimes,
  shownValue,
} from '@mortise/redis';
import type { InputSchemas, OutputSchemas } from './standard-schema.js';
import type { OnCodedError } from './on-coded-error.js';
import { withCodes } from './on-coded-error.js';
import { RunAtPastError } from './errors.js';
import { ENQUEUE_OPTIONS, QUEUE_OPTIONS, WORKER_OPTIONS } from './option-names.js';
import { MAX_DELAY_MS, MAX_PRIORITIES, MAX_SHARDS } from './limits.js';
import type { OnFailed, OnSucceeded } from './ended-attempt.js';

/**
 * The delay before the next attempt. Defaults: exponential, `delayMs` 1,000, `maxDelayMs` 3,600,000 (an hour) or `delayMs` if longer,
 * `jitter` 0.5.
 */
export interface Backoff extends Omit<PlainBackoff, 'type'> {
  /** `custom`, for tasks only, uses the function or backoff of the worker. */
  readonly type?: PlainBackoff['type'] | 'custom' | undefined;
}

export interface ResolvedBackoff extends Omit<ResolvedPlainBackoff, 'type'> {
  readonly type: ResolvedPlainBackoff['type'] | 'custom';
}

/** The argument of a `BackoffFunction`. */
export interface FailedAttempt {
  readonly id: string;
  readonly queue: string;
  readonly name: string;
  /** Number of failed attempts. */
  readonly attempt: number;
  readonly attempts: number;
  /** The thrown value. */
  readonly error: unknown;
}

/**
 * Returns the delay before the next attempt, ms: 0 to 10 years. The function is not called after the last attempt. If it throws or returns
 * another value (a promise, NaN), `onError` gets an error, and the default backoff is used.
 */
export type BackoffFunction = (failed: FailedAttempt) => number;

export interface QueueOptions<Tasks = Record<string, unknown>> {
  /** Keeps applications apart in one Redis. 1 to 1,024 bytes. Default `mortise`. */
  readonly prefix?: string | undefined;
  /**
   * Names of the priorities, the highest first. 1 to 16. The first enqueue stores them with the queue; other names then fail with
   * ERR_PRIORITIES_MISMATCH. Without this option, the stored names apply. Default `['high', 'medium', 'low']`.
   */
  readonly priorities?: readonly string[] | undefined;
  /** Maximum size of a payload as JSON, bytes. A payload may have 128 levels. 2 to 67,108,864 (64 MiB). Default 262,144. */
  readonly maxPayloadBytes?: number | undefined;
  /** Cancelled tasks that stay stored; the oldest are removed. 1 to 10,000,000. Default 1,000. */
  readonly keepCancelled?: number | undefined;
  /**
   * Number of slots over which a new queue is spread, to use several masters of a Cluster. 1 to 64. Another number than the stored one fails
   * with ERR_SHARDS_MISMATCH. `Queue.reshard` changes the stored number; from then on this option has no effect. Order and priorities hold
   * within a shard. Default: the stored number, or 1.
   */
  readonly shards?: number | undefined;
  /**
   * Standard Schemas (zod, valibot, arktype …) by task name. A payload that doesn't fit as JSON fails with ERR_INVALID_PAYLOAD. Redis
   * stores the payload as given, not the output of the schema. A worker with these schemas passes their output to its handlers. Default:
   * none.
   */
  readonly schemas?: InputSchemas<Tasks> | undefined;
  /**
   * Codecs that encode payloads before they are stored, in the order of the list, and decode payloads and results: see
   * `@mortise/queues/codecs`. 1 to 8. Limits and schemas apply to the plain JSON. Names, headers, progress, logs and errors are not
   * encoded. Default: none.
   */
  readonly codecs?: readonly PayloadCodec[] | undefined;
  /** Receives counters, and a span for each enqueue. The context of the span travels in the headers. Default: none. */
  readonly telemetry?: Telemetry | undefined;
}

export interface EnqueueOptions {
  /** The priority, one of the names of the queue. Default: the middle one of the queue's priorities. */
  readonly priority?: string | undefined;
  /** Delay, ms: the first attempt does not start earlier. 0 to 10 years. Excludes `runAt`. */
  readonly delayMs?: number | undefined;
  /**
   * The first attempt does not start before this instant, ms since the epoch or a Date. An instant up to a minute ago means now; an earlier
   * one fails with ERR_RUN_AT_PAST. Excludes `delayMs`.
   */
  readonly runAt?: number | Date | undefined;
  /** Identifies the task: a second enqueue with the same id stores nothing. 1 to 1,024 bytes. Default: a new UUIDv7. */
  readonly id?: string | undefined;
  /** Maximum of attempts, the first included. 1 to 65,535. Default 5. */
  readonly attempts?: number | undefined;
  /** The wait before the next attempt. Default: that of the handler, else that of the worker. */
  readonly backoff?: Backoff | undefined;
  /** An attempt that takes longer fails with ERR_TASK_TIMEOUT. 1 ms to 24 days. Default: that of the handler. */
  readonly timeoutMs?: number | undefined;
  /**
   * If the first attempt does not start within this time, the task is dead with ERR_TASK_EXPIRED. An attempt that did not count
   * (RetryLater, a stopping worker) is not the first one. More than `delayMs`, 1 ms to 10 years. Default: none.
   */
  readonly expiresInMs?: number | undefined;
  /** Strings beside the payload, such as trace context. Up to 16,384 bytes as JSON. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Tasks of a group take turns with those of other groups, under the group limits of the queue. 1 to 1,024 bytes. */
  readonly group?: string | undefined;
  /** For this time the `id` counts as a duplicate, even after its task is removed. 1 ms to 10 years. Only together with `id`. */
  readonly dedupMs?: number | undefined;
}

export interface WorkerOptions<Tasks = Record<string, unknown>> {
  /** The prefix of the worker's queues. 1 to 1,024 bytes. Default `mortise`. */
  readonly prefix?: string | undefined;
  /** Maximum of tasks that run at the same time, over all queues of the worker. 1 to 10,000. Default 50. */
  readonly concurrency?: number | undefined;
  /**
   * Tasks that the worker may fetch before a slot is free, while its handlers take less than 0.5 ms. If no slot is free within 8 ms, these
   * tasks go back, and the attempt doesn't count. They start in order, but before tasks of a higher priority that come later. A last
   * attempt is never prefetched. Prefetch is off with several queues, shards, limits, ordered groups, batch handlers or a `concurrency` of
   * a handler. With 0 every task stays in Redis until a slot is free. 0 to 100. Default 8: four times the throughput at concurrency 1.
   */
  readonly prefetch?: number | undefined;
  /**
   * The lease of a task, ms. The worker renews the lease after each third of this time while the handler runs. If the worker dies, the task
   * runs again when the lease has ended, or a moment later. 1,000 to an hour. Default 10,000.
   */
  readonly leaseMs?: number | undefined;
  /**
   * How long a task whose name has no handler here goes back for other workers, ms. The task is due again after 0.1 s, later after a tenth
   * of the time since then, 15 s at most. When the time is over the task is dead with ERR_UNKNOWN_TASK, unless a live worker handles its
   * name. With 0 it is dead at once. 0 to 10 years. Default 600,000.
   */
  readonly unknownAfterMs?: number | undefined;
  /** The backoff of tasks that have none, if their handler has none either. Default: exponential from 1 s. */
  readonly backoff?: Backoff | BackoffFunction | undefined;
  /**
   * How the queues share the slots. `strict`: a later queue gets the slots that earlier queues leave free. `rotate`: all queues get equal
   * shares. With weights of 1 to 1,000, queues get shares in proportion to their weights while all have tasks; a queue without a weight has
   * 1. The shards of one queue always have equal shares. Default `strict`.
   */
  readonly fairness?: Fairness | undefined;
  /** Maximum of stored succeeded tasks. 0 to 10,000,000. Default 1,000. */
  readonly keepSucceeded?: number | undefined;
  /** How long succeeded tasks stay stored, ms. With 0 none is kept. Up to 10 years. Default 86,400,000 (a day). */
  readonly keepSucceededMs?: number | undefined;
  /** Maximum of stored dead tasks; the oldest are removed beyond it. 1 to 10,000,000. Default 10,000. */
  readonly keepDead?: number | undefined;
  /**
   * Maximum size of a result as JSON, bytes. A larger result is dropped and reported to `onError`. 2 to 67,108,864. Default 262,144.
   */
  readonly maxPayloadBytes?: number | undefined;
  /**
   * Receives errors that no handler caused: failed calls (a lasting failure once a minute), lost leases, unknown tasks, and results that
   * can't be stored. Each has a `code` of docs/queues/reference/errors.md. Default: a line on stderr.
   */
  readonly onError?: OnCodedError | undefined;
  /**
   * Called when a handler has returned, before Redis stores the end. The call comes again if the worker dies in between. Default: none.
   */
  readonly onSucceeded?: OnSucceeded | undefined;
  /**
   * Called for each failed attempt, except `RetryLater`, and for a task that expired or has no handler. The call comes before Redis stores
   * the failure. It comes again if the worker dies in between. Default: a line on stderr for each dead task, unless there is an
   * `onSucceeded`.
   */
  readonly onFailed?: OnFailed | undefined;
  /**
   * Standard Schemas by task name. Handlers get their output. If a schema refuses a payload, the task is dead at once, and `onError` gets
   * ERR_INVALID_PAYLOAD. If a schema throws, the attempt fails. Default: none.
   */
  readonly schemas?: OutputSchemas<Tasks> | undefined;
  /**
   * Codecs that decode payloads and encode results: the same list as for the queue. An attempt whose payload can't be decoded fails with
   * ERR_PAYLOAD_ENCODED. Default: none.
   */
  readonly codecs?: readonly PayloadCodec[] | undefined;
  /** Receives counters, durations, and a span for each attempt. The handler runs in this span. Default: none. */
  readonly telemetry?: Telemetry | undefined;
}

export type Fairness = 'strict' | 'rotate' | Readonly<Record<string, number>>;

export const DEFAULTS = {
  priorities: ['high', 'medium', 'low'],
  maxPayloadBytes: 262_144,
  keepCancelled: 1_000,
  attempts: 5,
  backoff: { type: 'exponential', delayMs: 1_000, maxDelayMs: 3_600_000, jitter: 0.5 },
  concurrency: 50,
  prefetch: 8,
  leaseMs: 10_000,
  unknownAfterMs: 600_000,
  keepSucceeded: 1_000,
  keepSucceededMs: 86_400_000,
  keepDead: 10_000,
  graceMs: 10_000,
} as const;

/** The longest timer of Node. */
const MAX_TIMEOUT_MS = 24 * 86_400_000;
const MAX_ATTEMPTS = 65_535;
export const MAX_HEADERS_BYTES = 16_384;
const MAX_PAST_MS = 60_000;

export function resolvePriorities(names: readonly string[]): readonly string[] {
  requireArray('priorities', names, { min: 1, max: MAX_PRIORITIES });
  for (const name of names) {
    if (typeof name !== 'string' || !/^[\w.-]{1,32}$/.test(name)) {
      throw new ArgumentRangeError(
        `a priority must be 1 to 32 letters, digits or _.-, got ${shownValue(name)}`,
      );
    }
  }
  if (new Set(names).size !== names.length)
    throw new ArgumentRangeError('priorities must differ from each other');
  return [...names];
}

/** The name of a task, 1 to 1,024 bytes. */
export function requireTaskName(name: unknown): string {
  return requireText('task name', name);
}

export function resolveAttempts(attempts: number = DEFAULTS.attempts): number {
  return requireInteger('attempts', attempts, { min: 1, max: MAX_ATTEMPTS });
}

export function resolveBackoff(backoff: Backoff = {}): ResolvedBackoff {
  const { type = DEFAULTS.backoff.type, ...times } = requireObject('backoff', backoff);
  requireOneOf('backoff.type', type, ['exponential', 'fixed', 'custom']);
  return { ...resolveTimes(times, DEFAULTS.backoff), type };
}

/** The backoff of a worker or a handler. */
export function resolveBackoffPolicy(
  backoff: Backoff | BackoffFunction | undefined,
): ResolvedBackoff | BackoffFunction {
  if (typeof backoff === 'function') return backoff;
  const resolved = resolveBackoff(backoff);
  if (resolved.type === 'custom')
    throw new ArgumentTypeError('a custom backoff of a worker must be a function');
  return resolved;
}

export function resolveTimeoutMs(timeoutMs: number | undefined): number | undefined {
  if (timeoutMs === undefined) return undefined;
  return Math.ceil(requireDuration('timeoutMs', timeoutMs, { min: 1, max: MAX_TIMEOUT_MS }));
}

/** A task that is due after its end would never run. */
export function resolveExpiresInMs({ expiresInMs, delayMs = 0 }: EnqueueOptions): number | undefined {
  if (expiresInMs === undefined) return undefined;
  const resolved = Math.ceil(requireDuration('expiresInMs', expiresInMs, { min: 1, max: MAX_DELAY_MS }));
  if (delayMs >= resolved)
    throw new ArgumentRangeError(`expiresInMs must be more than delayMs, got ${expiresInMs} and ${delayMs}`);
  return resolved;
}

/** A copy of the headers, or undefined without headers. */
export function resolveHeaders(headers: EnqueueOptions['headers'] = {}): Record<string, string> | undefined {
  requireObject('headers', headers);
  const entries = Object.entries<unknown>(headers);
  if (entries.length === 0) return undefined;
  for (const [name, value] of entries) {
    if (typeof value === 'string') continue;
    throw new ArgumentTypeError(`the header ${JSON.stringify(name)} must be a string, got ${typeof value}`);
  }
  const copy = Object.fromEntries(entries) as Record<string, string>;
  const bytes = Buffer.byteLength(JSON.stringify(copy));
  if (bytes > MAX_HEADERS_BYTES) {
    throw new ArgumentRangeError(
      `headers must have at most ${MAX_HEADERS_BYTES} bytes as JSON, got ${bytes}`,
    );
  }
  return copy;
}

/** When a task may run, as the enqueue script expects it: 0: at once; negative: ms from now; positive: that instant. */
export function resolveWhen({ delayMs, runAt }: EnqueueOptions): number {
  if (delayMs !== undefined && runAt !== undefined)
    throw new ArgumentTypeError('delayMs and runAt exclude each other');
  if (delayMs !== undefined) {
    return 0 - Math.ceil(requireDuration('delayMs', delayMs, { min: 0, max: MAX_DELAY_MS }));
  }
  if (runAt === undefined) return 0;
  const instant = runAt instanceof Date ? runAt.getTime() : runAt;
  const at = Math.ceil(requireDuration('runAt', instant, { min: 0, max: Date.now() + MAX_DELAY_MS }));
  // A time that has just passed means now.
  if (at < Date.now() - MAX_PAST_MS) throw new RunAtPastError(at);
  return at;
}

export function resolveQueueOptions<Tasks>(options: QueueOptions<Tasks>) {
  requireOptions('Queue', options, QUEUE_OPTIONS);
  const { prefix, priorities, shards } = options;
  const { maxPayloadBytes, keepCancelled } = { ...DEFAULTS, ...withoutUndefined(options) };
  return {
    prefix,
    /** Undefined: the stored ones. */
    named: {
      priorities: priorities && resolvePriorities(priorities),
      shards:
        shards === undefined ? undefined : requireInteger('shards', shards, { min: 1, max: MAX_SHARDS }),
    },
    maxPayloadBytes: requireMaxPayloadBytes(maxPayloadBytes),
    keepCancelled: requireInteger('keepCancelled', keepCancelled, { min: 1, max: 10_000_000 }),
    codecs: Codecs.of(options.codecs),
  };
}

export function requireEnqueueOptions(options: object): void {
  requireOptions('enqueue', options, ENQUEUE_OPTIONS);
}

export function resolveGroup(group: string | undefined): string | undefined {
  return group === undefined ? undefined : requireText('group', group);
}

export function resolveDedupMs({ id, dedupMs }: EnqueueOptions): number | undefined {
  if (dedupMs === undefined) return undefined;
  if (id === undefined) throw new ArgumentTypeError('dedupMs needs an id');
  return Math.ceil(requireDuration('dedupMs', dedupMs, { min: 1, max: MAX_DELAY_MS }));
}

export type ResolvedWorkerOptions = ReturnType<typeof resolveWorkerOptions>;

export function resolveWorkerOptions(options: WorkerOptions) {
  requireOptions('Worker', options, WORKER_OPTIONS);
  const { concurrency, prefetch, leaseMs, unknownAfterMs } = { ...DEFAULTS, ...withoutUndefined(options) };
  const { onSucceeded, onFailed } = options;
  return {
    ...resolveEndOptions(options),
    onSucceeded: onSucceeded === undefined ? undefined : requireFunction('onSucceeded', onSucceeded),
    onFailed: onFailed === undefined ? undefined : requireFunction('onFailed', onFailed),
    concurrency: requireInteger('concurrency', concurrency, { min: 1, max: 10_000 }),
    prefetch: requireInteger('prefetch', prefetch, { min: 0, max: 100 }),
    leaseMs: requireInteger('leaseMs', leaseMs, { min: 1_000, max: 3_600_000 }),
    unknownAfterMs: requireDuration('unknownAfterMs', unknownAfterMs, { min: 0, max: MAX_DELAY_MS }),
  };
}

/** Options about the ends of attempts, of workers and claims. */
export function resolveEndOptions(
  options: Pick<
    WorkerOptions,
    | 'prefix'
    | 'backoff'
    | 'keepSucceeded'
    | 'keepSucceededMs'
    | 'keepDead'
    | 'maxPayloadBytes'
    | 'codecs'
    | 'onError'
  >,
) {
  const { prefix, onError } = options;
  const { keepSucceeded, keepSucceededMs, keepDead, maxPayloadBytes } = {
    ...DEFAULTS,
    ...withoutUndefined(options),
  };
  return {
    prefix: prefix === undefined ? undefined : requireName('prefix', prefix),
    backoff: resolveBackoffPolicy(options.backoff),
    keepSucceeded: requireInteger('keepSucceeded', keepSucceeded, { min: 0, max: 10_000_000 }),
    keepSucceededMs: requireInteger('keepSucceededMs', keepSucceededMs, { min: 0, max: MAX_DELAY_MS }),
    keepDead: requireInteger('keepDead', keepDead, { min: 1, max: 10_000_000 }),
    maxPayloadBytes: requireMaxPayloadBytes(maxPayloadBytes),
    codecs: Codecs.of(options.codecs),
    onError: onError === undefined ? undefined : withCodes(requireFunction('onError', onError)),
  };
}

function requireMaxPayloadBytes(bytes: number): number {
  return requireInteger('maxPayloadBytes', bytes, { min: 2, max: 64 * 1024 * 1024 });
}

/** Without undefined fields, which mean the default; a spread would overwrite it. */
function withoutUndefined<Options extends object>(options: Options): Partial<Resolved<Options>> {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as Partial<
    Resolved<Options>
  >;
}
