/** A worker that listens to a replica, since it has not noticed a failover, receives messages but is not counted as a listener. */
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { RedisServer } from '@mortise/redis-server';
import { startSingle } from '@mortise/redis-server';
import { Queue } from '@mortise/queues';
import { disconnect, freshPrefix } from '@mortise/test-kit';
import { Redis } from 'ioredis';
import { QueueKeys } from '../../src/keys.js';
import { until } from '../fixture/until.js';

const WAKE_ONLY = 'w:';
const LONG_MS = 60_000;

let servers: RedisServer[];
let clients: Redis[];

beforeEach(async () => {
  servers = await Promise.all([startSingle(), startSingle()]);
  clients = servers.map(({ url }) => new Redis(url));
});

afterEach(async () => {
  for (const client of clients) disconnect(client);
  await Promise.all(servers.map((server) => server.stop()));
});

test('a task is handed to one worker, whoever else is notified', async () => {
  const [master, replica] = servers as [RedisServer, RedisServer];
  const [redis] = clients as [Redis, Redis];
  await replica.command('REPLICAOF', master.host, String(master.port));
  await until(async () => String(await replica.command('INFO', 'replication')).includes('link_status:up'));
  const prefix = freshPrefix();
  const keys = new QueueKeys('q', prefix);
  const queue = new Queue(redis, 'q', { prefix });
  const received: Record<string, string[]> = { gone: [], here: [] };
  for (const [name, server] of Object.entries({ gone: replica, here: master })) {
    const own = new Redis(server.url);
    clients.push(own);
    own.on('message', (_, message) => received[name]!.push(message));
    await own.subscribe(keys.wakeChannel(name));
  }
  const isHandedOff = (messages: string[]): boolean =>
    messages.some(({ length }) => length > WAKE_ONLY.length);
  // The first enqueue doesn't know yet that a worker is idle.
  for (let time = 0; time < 20 && !Object.values(received).some(isHandedOff); time += 1) {
    await redis.del(keys.of.tasks, keys.of.active, keys.priorityKeys(3)[3]!);
    const idleUntil = Date.now() + LONG_MS;
    const handOff = { leaseMs: LONG_MS, settings: 'high,medium,low' };
    await redis.zadd(
      keys.of.idle,
      idleUntil,
      keys.idleMember('gone', handOff),
      idleUntil + 1,
      keys.idleMember('here', handOff),
    );
    await queue.enqueue('t', 1);
    await until(() => received['gone']!.length > time);
  }
  expect([isHandedOff(received['gone']!), isHandedOff(received['here']!)]).toEqual([false, true]);
});
