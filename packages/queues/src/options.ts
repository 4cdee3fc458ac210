import { requireDuration, requireInteger, requireName, requireOneOf } from '@mortise/redis';

/** How long to wait before the next attempt. */
export interface Backoff {
  /** `exponential` doubles the delay after each failed attempt, `fixed` keeps it. Default `exponential`. */
  readonly type?: 'exponential' | 'fixed';
  /** Delay after the first failed attempt, ms. 0 to 10 years. Default 1,000. */
  readonly delayMs?: number;
  /** The delay grows up to this, ms. From `delayMs` to 10 years. Default 3,600,000 (an hour), or `delayMs` if longer. */
  readonly maxDelayMs?: number;
  /** The part of the delay that is random, 0 to 1. Default 0.5: from half the delay to all of it. */
  readonly jitter?: number;
}

export interface QueueOptions {
  /** Keeps applications apart in one Redis. Default `mortise`. */
  readonly prefix?: string;
  /**
   * Names of the priorities, the first one first; strict. 1 to 16, stored with the queue by the first enqueue: an
   * instance that names others is refused with ERR_PRIORITIES_MISMATCH, one that names none takes the stored ones.
   * Default `['high', 'medium', 'low']`.
   */
  readonly priorities?: readonly string[];
  /** The most bytes of one payload as JSON. 2 to 67,108,864. Default 262,144. */
  readonly maxPayloadBytes?: number;
}

export interface EnqueueOptions {
  /** Default: the middle one of the queue's priorities. */
  readonly priority?: string;
  /** Run not before this many ms from now. 0 to 10 years. Excludes `runAt`. */
  readonly delayMs?: number;
  /** Run not before this instant, ms since the epoch or a Date. Excludes `delayMs`. */
  readonly runAt?: number | Date;
  /** Identifies the task: enqueued twice, it is stored once. 1 to 1,024 bytes. Default: a new UUIDv7. */
  readonly id?: string;
  /** How often a failing task is tried altogether. 1 to 65,535. Default 5. */
  readonly attempts?: number;
  readonly backoff?: Backoff;
  /** Strings that travel beside the payload, such as trace context. Up to 16,384 bytes as JSON. */
  readonly headers?: Readonly<Record<string, string>>;
}

export interface WorkerOptions {
  /** As for the queue. */
  readonly prefix?: string;
  /** Tasks that run at the same time. 1 to 10,000. Default 50. */
  readonly concurrency?: number;
  /**
   * A task that a worker took belongs to it for so long; leases are renewed at a third of it while the handler runs.
   * When the worker dies, the task runs again after at most this, plus a moment. 1,000 ms to an hour. Default 10,000.
   */
  readonly leaseMs?: number;
  /** Backoff of tasks that were enqueued without one of their own. */
  readonly backoff?: Backoff;
  /** How many succeeded tasks stay to be looked at. 0 to 10,000,000. Default 1,000. */
  readonly keepSucceeded?: number;
  /** For how long, ms; 0 keeps none. Up to 10 years. Default 86,400,000 (a day). */
  readonly keepSucceededMs?: number;
  /** How many dead tasks stay; beyond that the oldest are removed. 1 to 10,000,000. Default 10,000. */
  readonly keepDead?: number;
  /**
   * Hears of what goes wrong outside of handlers: calls that failed (a failure that goes on: once a minute), leases that
   * were lost, unknown tasks, results that are not kept. Default: written to stderr.
   */
  readonly onError?: (error: unknown) => void;
}

const YEAR_MS = 365.25 * 86_400_000;

export const DEFAULTS = {
  priorities: ['high', 'medium', 'low'],
  maxPayloadBytes: 262_144,
  attempts: 5,
  backoff: { type: 'exponential', delayMs: 1_000, maxDelayMs: 3_600_000, jitter: 0.5 },
  concurrency: 50,
  leaseMs: 10_000,
  keepSucceeded: 1_000,
  keepSucceededMs: 86_400_000,
  keepDead: 10_000,
  graceMs: 10_000,
} as const;

/** How deep a payload may be nested: what most JSON parsers and cjson (1,000) survive, with room to spare. */
export const MAX_DEPTH = 128;
export const MAX_DELAY_MS = 10 * YEAR_MS;
const MAX_ATTEMPTS = 65_535;
const MAX_HEADERS_BYTES = 16_384;
const MAX_PRIORITIES = 16;

export function resolvePriorities(names: readonly string[]): readonly string[] {
  if (!Array.isArray(names) || names.length < 1 || names.length > MAX_PRIORITIES) {
    throw new RangeError(`priorities must be 1 to ${MAX_PRIORITIES} names`);
  }
  for (const name of names) {
    if (typeof name !== 'string' || !/^[\w.-]{1,32}$/.test(name)) {
      throw new RangeError(`a priority must be 1 to 32 letters, digits or _.-, got ${JSON.stringify(name)}`);
    }
  }
  if (new Set(names).size !== names.length) throw new RangeError('priorities must differ from each other');
  return [...names];
}

/** The name of a task, 1 to 1,024 bytes. It is stored as UTF-8, which has no lone surrogates. */
export function requireTaskName(name: unknown): string {
  const text = requireName('task name', name);
  if (!text.isWellFormed())
    throw new TypeError('task name must be well-formed Unicode, got a lone surrogate');
  return text;
}

export function resolveAttempts(attempts: number = DEFAULTS.attempts): number {
  return requireInteger('attempts', attempts, { min: 1, max: MAX_ATTEMPTS });
}

export function resolveBackoff(backoff: Backoff = {}): Required<Backoff> {
  requireObject('backoff', backoff);
  const { type, delayMs, jitter } = { ...DEFAULTS.backoff, ...given(backoff) };
  requireOneOf('backoff.type', type, ['exponential', 'fixed']);
  requireDuration('backoff.delayMs', delayMs, { min: 0, max: MAX_DELAY_MS });
  const maxDelayMs = backoff.maxDelayMs ?? Math.max(delayMs, DEFAULTS.backoff.maxDelayMs);
  requireDuration('backoff.maxDelayMs', maxDelayMs, { min: delayMs, max: MAX_DELAY_MS });
  if (typeof jitter !== 'number')
    throw new TypeError(`backoff.jitter must be a number, got ${typeof jitter}`);
  if (!(jitter >= 0 && jitter <= 1))
    throw new RangeError(`backoff.jitter must be from 0 to 1, got ${jitter}`);
  return { type, delayMs, maxDelayMs, jitter };
}

/** A copy of the headers, or undefined when there are none. */
export function resolveHeaders(headers: EnqueueOptions['headers'] = {}): Record<string, string> | undefined {
  requireObject('headers', headers);
  const entries = Object.entries<unknown>(headers);
  if (entries.length === 0) return undefined;
  for (const [name, value] of entries) {
    if (typeof value === 'string') continue;
    throw new TypeError(`the header ${JSON.stringify(name)} must be a string, got ${typeof value}`);
  }
  const copy = Object.fromEntries(entries) as Record<string, string>;
  const bytes = Buffer.byteLength(JSON.stringify(copy));
  if (bytes > MAX_HEADERS_BYTES) {
    throw new RangeError(`headers must have at most ${MAX_HEADERS_BYTES} bytes as JSON, got ${bytes}`);
  }
  return copy;
}

/** When a task may run, as the enqueue script reads it: 0 at once, below 0 so many ms from now, above 0 that instant. */
export function resolveWhen({ delayMs, runAt }: EnqueueOptions): number {
  if (delayMs !== undefined && runAt !== undefined)
    throw new TypeError('delayMs and runAt exclude each other');
  if (delayMs !== undefined) {
    return 0 - Math.ceil(requireDuration('delayMs', delayMs, { min: 0, max: MAX_DELAY_MS }));
  }
  if (runAt === undefined) return 0;
  const instant = runAt instanceof Date ? runAt.getTime() : runAt;
  return Math.ceil(requireDuration('runAt', instant, { min: 0, max: Date.now() + MAX_DELAY_MS }));
}

export type ResolvedWorkerOptions = ReturnType<typeof resolveWorkerOptions>;

export function resolveWorkerOptions(options: WorkerOptions) {
  const { concurrency, leaseMs, keepSucceeded, keepSucceededMs, keepDead } = {
    ...DEFAULTS,
    ...given(options),
  };
  const onError = options.onError ?? ((error: unknown) => console.error('mortise worker:', error));
  if (typeof onError !== 'function') throw new TypeError(`onError must be a function, got ${typeof onError}`);
  return {
    prefix: options.prefix,
    concurrency: requireInteger('concurrency', concurrency, { min: 1, max: 10_000 }),
    leaseMs: requireInteger('leaseMs', leaseMs, { min: 1_000, max: 3_600_000 }),
    backoff: resolveBackoff(options.backoff),
    keepSucceeded: requireInteger('keepSucceeded', keepSucceeded, { min: 0, max: 10_000_000 }),
    keepSucceededMs: requireInteger('keepSucceededMs', keepSucceededMs, { min: 0, max: MAX_DELAY_MS }),
    keepDead: requireInteger('keepDead', keepDead, { min: 1, max: 10_000_000 }),
    onError,
  };
}

function requireObject(option: string, value: unknown): void {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return;
  throw new TypeError(
    `${option} must be an object, got ${Array.isArray(value) ? 'an array' : String(value)}`,
  );
}

/** Without the fields that are undefined: they mean the default, and a spread would put them over it. */
function given<Options extends object>(options: Options): Options {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as Options;
}
