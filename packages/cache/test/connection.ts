import { randomUUID } from 'node:crypto';
import { afterAll } from '@jest/globals';
import { Redis } from 'ioredis';

const open = new Set<Redis>();

afterAll(() => {
  for (const redis of open) redis.disconnect();
});

/** A connection to the server of this test run; closed when the file's tests are over. */
export function connect(): Redis {
  const redis = new Redis(process.env['MORTISE_TEST_REDIS']!);
  open.add(redis);
  return redis;
}

/** A key prefix that no other test has. */
export function freshPrefix(): string {
  return `test:${randomUUID()}`;
}
