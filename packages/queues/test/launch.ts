import { afterEach, expect } from '@jest/globals';
import { Worker } from '@mortise/queues';
import type { Handlers, WorkerOptions } from '@mortise/queues';
import type { RedisClient } from '@mortise/redis';

// oxlint-disable-next-line typescript/no-explicit-any -- tests use payloads of all types
type Tasks = Record<string, any>;

const running = new Set<Worker<Tasks>>();
let unexpected: unknown[] = [];

/** Before the connections of workers are closed, they have to stop. */
export async function stopWorkers(): Promise<void> {
  await Promise.all([...running].map((worker) => worker.stop({ graceMs: 0 })));
  running.clear();
}

afterEach(async () => {
  await stopWorkers();
  const errors = unexpected;
  unexpected = [];
  expect(errors).toEqual([]);
});

/** Longer than a busy machine holds up a renewal. */
export const LEASE_MS = 60_000;

/** Starts a worker that ends with the test. Its reports fail the test, unless that has an `onError` of its own. */
export async function launch(
  redis: RedisClient,
  queues: string | string[],
  handlers: Handlers<Tasks>,
  options: WorkerOptions,
): Promise<Worker<Tasks>> {
  const onError = (error: unknown): void => void unexpected.push(error);
  const worker = new Worker<Tasks>(redis, [queues].flat(), handlers, {
    onError,
    leaseMs: LEASE_MS,
    ...options,
  });
  running.add(worker);
  await worker.start();
  return worker;
}
