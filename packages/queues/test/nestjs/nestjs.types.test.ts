import { expect, test } from '@jest/globals';
import type { BatchTask, Queue, TaskContext } from '@mortise/queues';
import type { QueuesModuleOptions, QueuesWorkerOptions } from '@mortise/queues/nestjs';
import { InjectQueue, QueuesModule, TaskHandler } from '@mortise/queues/nestjs';
import { connect } from '@mortise/test-kit';
import type { Cluster } from 'ioredis';
import { z } from 'zod';

const redis = connect();

test('forRoot takes a client or a URL, and options of workers', () => {
  const worker: QueuesWorkerOptions = { queues: ['mail'], concurrency: 5, fairness: 'rotate' };
  const options: QueuesModuleOptions = { redis, prefix: undefined, workers: [worker], graceMs: 1_000 };
  expect(QueuesModule.forRoot(options)).toMatchObject({ module: QueuesModule, global: true });
  expect(QueuesModule.forRoot({ url: 'redis://127.0.0.1', workers: worker })).toHaveProperty('exports');
  expect(QueuesModule.forRoot({ redis, workers: false })).toHaveProperty('exports');
  const asynchronous = QueuesModule.forRootAsync({ inject: ['redis'], useFactory: async () => options });
  expect(asynchronous).toHaveProperty('providers');
  const cluster = (client: Cluster): QueuesModuleOptions => ({ redis: client });
  expect(cluster).toHaveLength(1);

  // @ts-expect-error -- no client
  QueuesModule.forRoot({ prefix: 'app' });
  // @ts-expect-error -- both
  QueuesModule.forRoot({ redis, url: 'redis://127.0.0.1' });
  // @ts-expect-error -- the prefix is the module's
  QueuesModule.forRoot({ redis, workers: { prefix: 'app' } });
});

test('forFeature takes the options of queues', () => {
  const schemas = { 'mail.sold': z.object({ itemId: z.string() }) };
  expect(
    QueuesModule.forFeature({ queues: { mail: { priorities: ['a'], shards: 2, schemas } } }).exports,
  ).toHaveLength(1);
  expect(QueuesModule.forFeature({ queues: { mail: { tasks: ['mail.sold'] } } }).exports).toHaveLength(1);
  // @ts-expect-error -- the prefix is the module's
  QueuesModule.forFeature({ queues: { mail: { prefix: 'app' } } });
});

test('@TaskHandler fits its method', () => {
  class Decorated {
    @InjectQueue('mail') declare readonly queue: Queue;

    @TaskHandler('a')
    async both(_payload: { itemId: string }, _context: TaskContext): Promise<string> {
      return '';
    }

    @TaskHandler('b', { queue: 'mail', timeoutMs: 1_000, concurrency: 2, backoff: { type: 'fixed' } })
    none(): void {}

    @TaskHandler('c', { batch: { maxSize: 10, waitMs: 100 } })
    many(tasks: readonly BatchTask<number>[]): number[] {
      return tasks.map(({ payload }) => payload);
    }

    // @ts-expect-error -- the second argument is the context
    @TaskHandler('d')
    misled(_payload: string, _attempt: number): void {}

    // @ts-expect-error -- a batch is an array of tasks
    @TaskHandler('e', { batch: { maxSize: 10 } })
    single(_payload: string): void {}
  }
  // @ts-expect-error -- no such option
  expect(() => TaskHandler('f', { retries: 5 })).toThrow(TypeError);
  expect(Object.getOwnPropertyNames(Decorated.prototype)).toContain('misled');
});
