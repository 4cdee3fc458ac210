import { afterEach } from '@jest/globals';
import { Queue } from '@mortise/queues';
import { startProxy, startSingle } from '@mortise/redis-server';
import type { RedisServer, SingleOptions, TcpProxy } from '@mortise/redis-server';
import { disconnect } from '@mortise/test-kit';
import { Redis } from 'ioredis';
import type { RedisOptions } from 'ioredis';
import { QueueKeys } from '../src/keys.js';
import { stopWorkers } from './launch.js';

// oxlint-disable-next-line typescript/no-explicit-any -- tests use payloads of all types
export type Tasks = Record<string, any>;

export type ConnectionLimits = Pick<
  RedisOptions,
  'maxRetriesPerRequest' | 'enableOfflineQueue' | 'retryStrategy' | 'commandTimeout'
>;

export const prefix = 'test';
export const keys = new QueueKeys('q', prefix);
export const never = new Promise<never>(() => undefined);

let closing: (() => unknown)[] = [];
afterEach(async () => {
  await stopWorkers();
  for (const close of closing.toReversed()) await close();
  closing = [];
});

/** A server of its own; it ends with the test, like all that is made here. */
export async function server(options?: SingleOptions): Promise<RedisServer> {
  const started = await startSingle(options);
  closing.push(() => started.stop());
  return started;
}

export async function proxyTo(target: RedisServer): Promise<TcpProxy> {
  const proxy = await startProxy(target);
  closing.push(() => proxy.stop());
  return proxy;
}

export function connectTo({ port }: { port: number }, options: ConnectionLimits = {}): Redis {
  const redis = new Redis(port, '127.0.0.1', { retryStrategy: () => 50, ...options });
  redis.on('error', () => undefined);
  closing.push(() => disconnect(redis));
  return redis;
}

export function queueOn(redis: Redis): Queue<Tasks> {
  return new Queue(redis, 'q', { prefix });
}

/** Reports of workers while Redis or their connection is away. */
export function collector(): { errors: Error[]; onError: (error: unknown) => void } {
  const errors: Error[] = [];
  return { errors, onError: (error) => void errors.push(error as Error) };
}
