/** Tasks of many kinds, for runs in which something is done to Redis or the network while workers are at it. */
import type { PlannedTask } from './producer.js';

const KINDS: readonly PlannedTask[] = [
  { name: 'work', payload: { about: 'a hundred bytes '.repeat(6) } },
  { name: 'fail once', payload: null },
  { name: 'sleep', payload: 5, options: { priority: 'high' } },
  { name: 'work', payload: null, options: { delayMs: 100 } },
  { name: 'later', payload: null, options: { priority: 'low' } },
  { name: 'discard', payload: null },
  { name: 'work', payload: null, options: { group: 'a group' } },
  { name: 'fail', payload: null, options: { attempts: 2 } },
];

export function planLoad(task: number): PlannedTask {
  return KINDS[task % KINDS.length]!;
}

export function endOfLoad(task: number): 'succeeded' | 'dead' {
  return ['fail', 'discard'].includes(planLoad(task).name) ? 'dead' : 'succeeded';
}

/** With a backoff that doesn't hold up a test. */
export const LOAD_WORKERS = {
  leaseMs: 1_000,
  concurrency: 30,
  backoff: { type: 'fixed', delayMs: 10 },
} as const;
