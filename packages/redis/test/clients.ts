import { afterEach } from '@jest/globals';
import { Cluster, Redis } from 'ioredis';
import type { RedisClient } from '../src/index.js';
import { isClosed } from '../src/closure.js';
import { Cluster as Cluster5, Redis as Redis5 } from 'ioredis5';

/** Both majors of ioredis; the tests that wait run against each of them. */
export const MAJORS = ['6', '5'] as const;
export type Major = (typeof MAJORS)[number];

/** How long ioredis waits for a connection to close; its two seconds would hold the test run. */
const QUICK = { disconnectTimeout: 100 };

const open = new Set<RedisClient>();

afterEach(() => {
  for (const client of open) if (!isClosed(client)) client.disconnect();
  open.clear();
});

/** The server that the jest preset started. */
export const TEST_REDIS = process.env['MORTISE_TEST_REDIS']!;

/** A client that is closed after the test. It prints nothing while its server is down. */
export function connect(major: Major = '6', url = TEST_REDIS, options: object = {}): Redis {
  const settings = { ...QUICK, retryStrategy: () => 20, ...options };
  return kept(major === '6' ? new Redis(url, settings) : (new Redis5(url, settings) as unknown as Redis));
}

/** The same with Sentinel. */
export function connectSentinel(major: Major, options: object): Redis {
  const settings = { ...QUICK, retryStrategy: () => 20, ...options };
  return kept(major === '6' ? new Redis(settings) : (new Redis5(settings) as unknown as Redis));
}

/** The same for Redis Cluster. */
export function connectCluster(
  major: Major,
  nodes: { host: string; port: number }[],
  options: { redisOptions?: object } = {},
): Cluster {
  const settings = { ...options, redisOptions: { ...QUICK, ...options.redisOptions } };
  const addresses = nodes.map(({ host, port }) => ({ host, port }));
  return kept(
    major === '6'
      ? new Cluster(addresses, settings)
      : (new Cluster5(addresses, settings) as unknown as Cluster),
  );
}

function kept<C extends RedisClient>(client: C): C {
  client.on('error', () => undefined);
  open.add(client);
  return client;
}
