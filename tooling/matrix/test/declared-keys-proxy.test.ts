import { afterAll, expect, test } from '@jest/globals';
import { runServer } from '@mortise/test-kit';
import { Redis } from 'ioredis';
import { startDeclaredKeysProxy } from '../declared-keys-proxy.mjs';

const { server } = await runServer();
const proxy = await startDeclaredKeysProxy(server);
const clients: Redis[] = [];

afterAll(() => {
  for (const client of clients) client.disconnect();
  proxy.stop();
});

function connect(protocol: 2 | 3): Redis {
  const client = new Redis({ port: proxy.port, protocol });
  clients.push(client);
  return client;
}

test.each([2, 3] as const)(
  'in RESP%i a script may use the keys that it declares, and no other',
  async (protocol) => {
    const redis = connect(protocol);
    await redis.mset('a', '1', 'b*', '2', 'b c', '3');
    const [two, three] = await Promise.all([
      redis.eval("return redis.call('GET', KEYS[1])", 1, 'b*'),
      redis.eval_ro("return redis.call('GET', KEYS[2])", 2, 'a', 'b c'),
    ]);
    expect([two, three]).toEqual(['2', '3']);
    const undeclared = redis.eval("return redis.call('GET', 'a')", 1, 'b*');
    const written = redis.eval("return redis.call('SET', 'a', '9')", 0);
    await expect(undeclared).rejects.toThrow(/keys/);
    await expect(written).rejects.toThrow(/keys/);
    // A command outside a script has all keys again.
    expect(await redis.get('a')).toBe('1');
    expect(proxy.problems()).toEqual([]);
  },
);

test.each([2, 3] as const)('in RESP%i messages of a subscription pass', async (protocol) => {
  const redis = connect(protocol);
  const received = new Promise((resolve) => {
    redis.on('message', (channel, text) => resolve([channel, text]));
  });
  await redis.subscribe('news', 'weather');
  await connect(protocol).eval("return redis.call('PUBLISH', 'news', 'hi')", 0);
  expect(await received).toEqual(['news', 'hi']);
});
