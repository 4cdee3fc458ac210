import { randomUUID } from 'node:crypto';

import { expect, test } from '@jest/globals';
import { Queue } from '@mortise/queues';
import { Redis } from 'ioredis';

import { Metrics } from '../src/operations/index.js';

const metric = { name: 'mortise.queues.run', unit: 's', description: 'How long attempts run' };

test('a scrape is answered while Redis is away', async () => {
  const redis = new Redis({ lazyConnect: true });
  const metrics = new Metrics('worker');
  metrics.watch(redis, 'away');
  const text = await metrics.text();
  expect(text).toContain('mortise_redis_up{app="worker"} 0');
  expect(text).not.toContain('mortise_queue_tasks{');
});

test('a scrape has the queues, whatever their names are, and nothing of those that are gone', async () => {
  const redis = new Redis(process.env['MORTISE_TEST_REDIS']!);
  const prefix = `test:${randomUUID()}`;
  const queues = ['plain', 'a"b\\c\nd'].map((name) => new Queue(redis, name, { prefix }));
  for (const queue of queues) await queue.enqueue('t', 1);
  const metrics = new Metrics('worker');
  metrics.watch(redis, prefix);
  const linesOf = async (): Promise<string[]> =>
    (await metrics.text()).split('\n').filter((line) => /mortise_queue\w*[{ ]/.test(line));
  const lines = await linesOf();
  expect(lines.filter((line) => line.startsWith('#'))).toHaveLength(6);
  expect(lines).toContain('mortise_queues{app="worker"} 2');
  expect(lines).toContain('mortise_queue_tasks{app="worker",queue="plain",state="ready"} 1');
  const odd = String.raw`app="worker",queue="a\"b\\c\nd"`;
  expect(lines).toContain(`mortise_queue_tasks{${odd},state="dead"} 0`);
  expect(lines.find((line) => line.startsWith(`mortise_queue_next_task_waiting_seconds{${odd}} `))).toMatch(
    / \d+(?:\.\d+)?$/,
  );
  await queues[1]!.obliterate();
  expect((await linesOf()).filter((line) => line.includes('queue="a'))).toEqual([]);
  redis.disconnect();
});

test('names that users choose have a hundred series at most, and other attributes none', async () => {
  const { registry, telemetry } = new Metrics('api');
  for (let index = 0; index < 150; index += 1)
    telemetry.record!(metric, 0.2, {
      'messaging.destination.name': `queue ${index}`,
      'mortise.task.name': 'mail',
      'messaging.message.id': String(index),
    });
  const counts = (await registry.metrics())
    .split('\n')
    .filter((line) => line.startsWith('mortise_queues_run_seconds_count'));
  expect(counts).toHaveLength(101);
  expect(counts[0]).toBe('mortise_queues_run_seconds_count{app="api",queue="queue 0",task="mail"} 1');
  expect(counts.at(-1)).toBe('mortise_queues_run_seconds_count{app="api",queue="other",task="mail"} 50');
});

test('counters end in _total, and times have the buckets of seconds', async () => {
  const { registry, telemetry } = new Metrics('api');
  telemetry.count!({ name: 'mortise.queues.lease_lost', unit: '{attempt}', description: 'Lost' }, 2, {});
  telemetry.record!(metric, 0.02, {});
  telemetry.record!({ name: 'mortise.messaging.batch', unit: '{message}', description: 'Batches' }, 3, {});
  const text = await registry.metrics();
  expect(text).toContain('mortise_queues_lease_lost_total{app="api"} 2');
  expect(text).toContain('mortise_queues_run_seconds_bucket{le="0.05",app="api"} 1');
  expect(text).toContain('mortise_messaging_batch_bucket{le="5",app="api"} 1');
});
