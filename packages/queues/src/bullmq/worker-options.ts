/** The defaults and the checks of BullMQ for the options of a worker, with its messages. */
import type { ResolvedWorkerOptions } from '../options.js';
import { resolveWorkerOptions } from '../options.js';
import { BullmqUnsupportedError } from './errors.js';
import { KEEP_ALL } from './retention.js';
import type { WorkerOptions } from './types.js';

export const WORKER_DEFAULTS = {
  drainDelay: 5,
  concurrency: 1,
  lockDuration: 30_000,
  maximumRateLimitDelay: 30_000,
  maxStalledCount: 1,
  stalledInterval: 30_000,
  autorun: true,
  runRetryDelay: 15_000,
} as const;

const MIN_LEASE_MS = 1_000;
const MAX_LEASE_MS = 3_600_000;
const MAX_PAYLOAD_BYTES = 64 * 1024 * 1024;

const LACKING: Readonly<Record<string, string>> = {
  useWorkerThreads: 'use sandbox() of @mortise/queues/sandbox',
  workerForkOptions: 'use sandbox() of @mortise/queues/sandbox',
  workerThreadsOptions: 'use sandbox() of @mortise/queues/sandbox',
  metrics: 'use the telemetry of the engine',
  telemetry: 'use the telemetry of the engine',
};

export function checkWorkerOptions(options: WorkerOptions): void {
  const { maxStalledCount, maxStartedAttempts, stalledInterval, drainDelay } = options;
  if (typeof maxStalledCount !== 'number' || maxStalledCount < 0) {
    throw new Error('maxStalledCount must be greater or equal than 0');
  }
  if (typeof maxStartedAttempts === 'number' && maxStartedAttempts < 0) {
    throw new Error('maxStartedAttempts must be greater or equal than 0');
  }
  if (typeof stalledInterval !== 'number' || stalledInterval <= 0) {
    throw new Error('stalledInterval must be greater than 0');
  }
  if (typeof drainDelay !== 'number' || drainDelay <= 0) throw new Error('drainDelay must be greater than 0');
  for (const [option, instead] of Object.entries(LACKING)) {
    if (options[option] !== undefined)
      throw new BullmqUnsupportedError(`the worker's option ${option}`, instead);
  }
}

/** The options of the engine's parts; the concurrency may change. */
export type EngineOptions = { -readonly [Key in keyof ResolvedWorkerOptions]: ResolvedWorkerOptions[Key] };

export function engineOptions(
  { lockDuration = WORKER_DEFAULTS.lockDuration }: WorkerOptions,
  prefix: string,
  onError: (error: Error) => void,
): EngineOptions {
  return {
    ...resolveWorkerOptions({
      ...KEEP_ALL,
      prefix,
      maxPayloadBytes: MAX_PAYLOAD_BYTES,
      leaseMs: Math.min(MAX_LEASE_MS, Math.max(MIN_LEASE_MS, Math.ceil(lockDuration))),
      onError,
      onFailed: () => undefined,
    }),
  };
}
