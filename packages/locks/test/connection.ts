import { randomUUID } from 'node:crypto';
import { afterAll } from '@jest/globals';
import { Redis } from 'ioredis';

const open = new Set<Redis>();

afterAll(() => {
  for (const redis of open) redis.disconnect();
});

/**
 * A connection, to the server of this test run unless a URL is given; closed when the file's tests are over. Each one
 * is another contender: to the locks it is another process.
 */
export function connect(url = process.env['MORTISE_TEST_REDIS']!): Redis {
  const redis = new Redis(url, { retryStrategy: () => 20 });
  // What ioredis would print while its server is down.
  redis.on('error', () => undefined);
  open.add(redis);
  return redis;
}

/** A key prefix that no other test has. */
export function freshPrefix(): string {
  return `test:${randomUUID()}`;
}
