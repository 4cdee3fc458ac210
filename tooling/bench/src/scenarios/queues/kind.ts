import type { Redis } from 'ioredis';
import type { Payload } from './payload.js';

export const QUEUE = 'bench';

/** Stores tasks. */
interface Producer {
  /** Resolves when Redis has accepted the task. */
  enqueue(payload: Payload): Promise<unknown>;
  enqueueMany(payloads: readonly Payload[]): Promise<unknown>;
  /** Left out by what has no delayed tasks. */
  enqueueDelayed?(payload: Payload, delayMs: number): Promise<unknown>;
}

interface WorkerSettings {
  readonly url: string;
  readonly concurrency: number;
}

/** A way to do it: a library with its settings. Its parts run in processes of their own, and live as long as those. */
export interface QueueKind {
  readonly name: string;
  readonly version: string;
  producer(url: string): Promise<Producer>;
  /** Starts one worker; resolves when it takes tasks. The returned function ends it. */
  work(
    settings: WorkerSettings,
    /** `isFirst`: left out by what doesn't tell whether the task was started before. */
    handle: (payload: Payload, isFirst?: boolean) => void | Promise<void>,
  ): Promise<() => Promise<void>>;
  /** How many tasks are waiting or being run. */
  unfinished(redis: Redis): Promise<number>;
  /** How many finished tasks are kept. */
  kept(redis: Redis): Promise<number>;
}
