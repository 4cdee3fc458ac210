/** The errors that real servers give to clients that they don't serve. */
import { describe, expect, test } from '@jest/globals';
import { runServer } from '@mortise/test-kit';
import { callRedis, isTransient } from '../src/index.js';
import { MAJORS, connect } from './fixture/clients.js';
import { swap } from './fixture/scripts.js';

const { server: locked } = await runServer();
await locked.command('CONFIG', 'SET', 'requirepass', 'secret');
const { server: master } = await runServer();
const { server: replica } = await runServer({ args: ['--replicaof', '127.0.0.1', String(master.port)] });
await master.command('ACL', 'SETUSER', 'reader', 'on', '>p', '~*', '+@read', '+info', '+hello', '+client');

const run = (redis: ReturnType<typeof connect>, field: string) =>
  swap.run(redis, { target: '{x}:t' }, { value: 'v', fields: [field] });

describe.each(MAJORS)('ioredis %s', (major) => {
  test.each([
    ['no password', {}, /^NOAUTH /],
    ['a wrong password', { password: 'wrong' }, /^(WRONGPASS|NOAUTH) /],
  ])('%s: ERR_REDIS_AUTH, for every call', async (_, options, reply) => {
    const redis = connect(major, locked.url.replace(/\/\/.*@/, '//'), options);
    const calls = [run(redis, 'a'), run(redis, 'b'), callRedis(redis, 'get', ['a'])];
    for (const outcome of await Promise.allSettled(calls)) {
      const error: unknown = outcome.status === 'rejected' && outcome.reason;
      expect(error).toMatchObject({
        code: 'ERR_REDIS_AUTH',
        message: expect.stringContaining('set username and password of the client'),
        cause: { name: 'ReplyError', message: expect.stringMatching(reply) },
      });
      expect(isTransient(error)).toBe(false);
    }
  });

  test('a write on a replica: ERR_REDIS_READONLY, by a script and by a command', async () => {
    const redis = connect(major, replica.url);
    const calls = [run(redis, 'a'), callRedis(redis, 'set', ['a', 1])];
    for (const outcome of await Promise.allSettled(calls)) {
      const error: unknown = outcome.status === 'rejected' && outcome.reason;
      expect(error).toMatchObject({
        code: 'ERR_REDIS_READONLY',
        message: expect.stringMatching(/^this Redis is a read-only replica: connect to the master/),
        cause: { name: 'ReplyError', message: expect.stringMatching(/^READONLY /) },
      });
      expect(isTransient(error)).toBe(true);
    }
  });

  test('a right that is missing stays a reply', async () => {
    const redis = connect(major, master.url, { username: 'reader', password: 'p' });
    await expect(run(redis, 'a')).rejects.toMatchObject({
      name: 'ReplyError',
      message: expect.stringMatching(/^NOPERM /),
    });
  });
});
