/** The lengths of the queues, read at each scrape. */
import { Queue } from '@mortise/queues';
import type { RedisClient } from '@mortise/redis';
import { waitFor } from '@mortise/redis';
import { Gauge } from 'prom-client';
import type { Registry } from 'prom-client';

/** Queues in a scrape, in the order of their names; further ones are counted only. */
const MAX_QUEUES = 100;

/** A scrape doesn't wait longer for Redis. */
const READ_MS = 1_000;

/**
 * Adds the gauges of the queues under a prefix. A scrape reads the names, then the counts of all queues at once, then the next tasks of
 * those that have ready ones: three round trips.
 */
export function watchQueues(registry: Registry, redis: RedisClient, prefix: string): void {
  const queues = new Gauge({
    name: 'mortise_queues',
    help: 'Queues that exist',
    registers: [registry],
    collect,
  });
  const tasks = new Gauge({
    name: 'mortise_queue_tasks',
    help: 'Tasks of a queue by state',
    labelNames: ['queue', 'state'],
    registers: [registry],
    collect,
  });
  const waiting = new Gauge({
    name: 'mortise_queue_next_task_waiting_seconds',
    help: 'How long the task that workers take next has been in the queue; 0 when none waits',
    labelNames: ['queue'],
    registers: [registry],
    collect,
  });

  /** A kept queue has read its number of shards. */
  const kept = new Map<string, Queue>();
  /** All gauges of a scrape share one reading. */
  let reading: Promise<void> | undefined;

  function collect(): Promise<void> {
    reading ??= readAll().finally(() => {
      reading = undefined;
    });
    return reading;
  }

  async function readAll(): Promise<void> {
    for (const gauge of [queues, tasks, waiting]) gauge.reset();
    // A scrape shows the rest while Redis is away; `mortise_redis_up` tells.
    if (redis.status !== 'ready') return;
    await waitFor(read(), { waitMs: READ_MS }).catch(() => undefined);
  }

  async function read(): Promise<void> {
    const names = await Queue.names(redis, { prefix });
    queues.set(names.length);
    for (const name of kept.keys()) if (!names.includes(name)) kept.delete(name);
    await Promise.all(names.toSorted().slice(0, MAX_QUEUES).map(look));
  }

  async function look(name: string): Promise<void> {
    const queue = kept.get(name) ?? new Queue(redis, name, { prefix });
    kept.set(name, queue);
    const counts = await queue.counts();
    for (const [state, count] of Object.entries(counts)) tasks.set({ queue: name, state }, count);
    const [task] = counts.ready > 0 ? (await queue.summaries('ready', { limit: 1 })).tasks : [];
    waiting.set({ queue: name }, task ? Math.max(0, Date.now() - task.enqueuedAt) / 1_000 : 0);
  }
}
