import { afterAll } from '@jest/globals';
import { Redis } from 'ioredis';
import { disconnect } from './disconnect.js';

const open = new Set<Redis>();

afterAll(() => {
  for (const redis of open) disconnect(redis);
});

/**
 * A connection to the server of this test run, unless a URL is given; closed when the file's tests are over. It comes
 * back within 20 ms when its server does.
 */
export function connect(url = process.env['MORTISE_TEST_REDIS']!): Redis {
  const redis = new Redis(url, { retryStrategy: () => 20 });
  // What ioredis would print while the server is down.
  redis.on('error', () => undefined);
  open.add(redis);
  return redis;
}
