import { availableParallelism } from 'node:os';
import type { ResourceLimits } from 'node:worker_threads';
import {
  ArgumentTypeError,
  requireDuration,
  requireInteger,
  requireObject,
  requireOptions,
} from '@mortise/redis';

export interface SandboxOptions {
  /** Maximum of threads, one task each. Further tasks wait under their leases. 1 to 1,024. Default: CPUs − 1. */
  readonly threads?: number | undefined;
  /** An idle thread ends after this time, ms. 0 to a day. Default 30,000. */
  readonly idleMs?: number | undefined;
  /** A thread that ignores its aborted signal for this time is terminated, ms. 0 to an hour. Default 5,000. */
  readonly killMs?: number | undefined;
  /** Limits of each thread, as for `Worker` of `node:worker_threads`. Default: those of Node. */
  readonly resourceLimits?: ResourceLimits | undefined;
  /** Node options of the threads, such as `['--import', 'tsx']` for a module in TypeScript. Default: those of the process. */
  readonly execArgv?: readonly string[] | undefined;
}

export interface ResolvedSandboxOptions {
  readonly threads: number;
  readonly idleMs: number;
  readonly killMs: number;
  readonly resourceLimits: ResourceLimits;
  readonly execArgv: string[];
}

const DAY_MS = 86_400_000;
const OPTIONS = new Set(['threads', 'idleMs', 'killMs', 'resourceLimits', 'execArgv']);

export function resolveSandboxOptions(options: SandboxOptions): ResolvedSandboxOptions {
  requireOptions('sandbox', options, OPTIONS);
  const { threads, idleMs = 30_000, killMs = 5_000, resourceLimits = {}, execArgv } = options;
  requireObject('resourceLimits', resourceLimits);
  if (execArgv !== undefined && !Array.isArray(execArgv)) {
    throw new ArgumentTypeError(`execArgv must be an array, got ${typeof execArgv}`);
  }
  return {
    threads: requireInteger('threads', threads ?? Math.max(1, availableParallelism() - 1), {
      min: 1,
      max: 1_024,
    }),
    idleMs: requireDuration('idleMs', idleMs, { min: 0, max: DAY_MS }),
    killMs: requireDuration('killMs', killMs, { min: 0, max: 3_600_000 }),
    resourceLimits,
    execArgv: [...(execArgv ?? process.execArgv)],
  };
}
