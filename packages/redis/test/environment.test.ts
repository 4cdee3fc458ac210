import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { afterEach, describe, expect, jest, test } from '@jest/globals';
import { runServer, until } from '@mortise/test-kit';
import { WaiterHub, callRedis, requireClient } from '../src/index.js';
import { MAJORS, connect } from './fixture/clients.js';
import { count, swap } from './fixture/scripts.js';

const { server } = await runServer({ args: ['--maxmemory-policy', 'allkeys-lru'] });
await server.command('ACL', 'SETUSER', 'managed', 'on', '>p', '~*', '+@all', '-info', '-config');

afterEach(() => {
  jest.restoreAllMocks();
});

async function infosOf(action: () => Promise<unknown>): Promise<number> {
  await server.command('CONFIG', 'RESETSTAT');
  await action();
  const stats = String(await server.command('INFO', 'commandstats'));
  return Number(/cmdstat_info:calls=(\d+)/.exec(stats)?.[1] ?? 0);
}

describe('a server that may evict keys', () => {
  // The first of the file: a process warns once of a policy.
  test('is the subject of one warning, with a code', async () => {
    const warn = jest.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
    const clients = MAJORS.map((major) => connect(major, server.url));
    for (const redis of clients) requireClient(requireClient(redis));
    const [late] = [connect('6', server.url)];
    await late.ping();
    requireClient(late);
    await until('the warning', () => warn.mock.calls.length > 0);
    for (const redis of [...clients, late]) await redis.ping();
    expect(warn.mock.calls).toEqual([
      [
        'Redis may evict keys (maxmemory-policy allkeys-lru): a lock or a queue would lose a part of its keys. ' +
          'Set maxmemory-policy to noeviction',
        { type: 'MortiseWarning', code: 'MORTISE_EVICTION' },
      ],
    ]);
  });

  test('is asked once for each client, and not for a caller that can lose its keys', async () => {
    const redis = connect('6', server.url);
    await redis.ping();
    const infos = await infosOf(async () => {
      for (let call = 0; call < 3; call += 1) requireClient(redis, { eviction: 'allowed' });
      WaiterHub.of(redis);
      await redis.ping();
    });
    expect(infos).toBe(0);
    expect(
      await infosOf(async () => {
        for (let call = 0; call < 3; call += 1) {
          requireClient(redis);
          await swap.run(redis, { target: '{x}:t' }, { value: 'v', fields: ['f'] });
        }
      }),
    ).toBe(1);
  });
});

test.each(MAJORS)('a server that refuses INFO is taken as it is, ioredis %s', async (major) => {
  jest.spyOn(console, 'warn').mockImplementation(() => undefined);
  const warn = jest.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
  const redis = requireClient(connect(major, server.url, { username: 'managed', password: 'p' }));
  await swap.run(redis, { target: '{x}:t' }, { value: 'v', fields: ['f'] });
  await callRedis(redis, 'ping', []);
  expect(warn.mock.calls).toEqual([]);
});

describe('a server that is too old', () => {
  /** Answers as Redis 6.2 does. No such server is at hand; the replies are those of its source. */
  async function oldServer(
    version: string,
  ): Promise<{ url: string; infos: () => number; close: () => void }> {
    let infos = 0;
    const replies: [request: RegExp, reply: string][] = [
      [/^HELLO/i, '-NOPROTO unsupported protocol version\r\n'],
      [/^EVALSHA_RO|^EVAL_RO/i, '-ERR unknown command `evalsha_ro`, with args beginning with: `x`, \r\n'],
      [/^EVALSHA/i, '-NOSCRIPT No matching script. Please use EVAL.\r\n'],
      [
        /^EVAL/i,
        "-ERR Error compiling script (new function): user_script:1: unexpected symbol near '#' \r\n",
      ],
    ];
    const listener = createServer((socket) => {
      socket.on('error', () => undefined);
      socket.on('data', (data) => {
        for (const [, name, section] of data
          .toString()
          .matchAll(/\*\d+\r\n\$\d+\r\n(\w+)\r\n(?:\$\d+\r\n(\w+))?/g)) {
          const body = `# Server\r\nredis_version:${version}\r\nmaxmemory_policy:noeviction\r\n`;
          if (/^INFO/i.test(name!)) {
            if (section === 'server') infos += 1;
            socket.write(`$${body.length}\r\n${body}\r\n`);
          } else socket.write(replies.find(([request]) => request.test(name!))?.[1] ?? '+OK\r\n');
        }
      });
    }).listen(0, '127.0.0.1');
    await once(listener, 'listening');
    const { port } = listener.address() as AddressInfo;
    return { url: `redis://127.0.0.1:${port}`, infos: () => infos, close: () => listener.close() };
  }

  test.each(MAJORS)(
    'every script rejects with ERR_REDIS_VERSION, and it is asked once, ioredis %s',
    async (major) => {
      const old = await oldServer('6.2.14');
      const redis = requireClient(connect(major, old.url));
      const write = () => swap.run(redis, { target: '{x}:t' }, { value: 'v', fields: ['f'] });
      const read = () => count.run(redis, { tags: [] }, { values: [] });
      for (const run of [write, read, write]) {
        await expect(run()).rejects.toMatchObject({
          code: 'ERR_REDIS_VERSION',
          version: '6.2.14',
          message: expect.stringContaining(
            'Mortise needs Redis 7.0 or Valkey, this is 6.2.14: use a newer server',
          ),
          cause: { name: 'ReplyError' },
        });
      }
      expect(old.infos()).toBe(1);
      old.close();
    },
  );

  test('the same replies of a newer server pass through', async () => {
    const server7 = await oldServer('7.2.4');
    const redis = connect('6', server7.url);
    await expect(count.run(redis, { tags: [] }, { values: [] })).rejects.toThrow(/^ERR unknown command/);
    server7.close();
  });
});
