import { randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, jest, test } from '@jest/globals';
import { runServer, until } from '@mortise/test-kit';
import type { RedisConnection } from '../src/index.js';
import { KeySpace, Script } from '../src/index.js';
import { MAJORS, connect } from './fixture/clients.js';
import { count, echo, failing, liar, swap, trespasser } from './fixture/scripts.js';

/** Own server: commands are counted, and its scripts are flushed. Cluster-enabled, so slot rules hold. */
const { server } = await runServer({ isCluster: true });

/** How often each scripting command was called since the last reset. */
async function calls(): Promise<Record<string, number>> {
  const stats = String(await server.command('INFO', 'commandstats'));
  const counted = [...stats.matchAll(/^cmdstat_(eval\w*):calls=(\d+)/gm)];
  return Object.fromEntries(counted.map(([, name, times]) => [name, Number(times)]));
}

let target: string;
beforeEach(async () => {
  target = new KeySpace('test', randomUUID()).entity('x').key('target');
  await server.command('SCRIPT', 'FLUSH');
  await server.command('CONFIG', 'RESETSTAT');
});

describe.each(MAJORS)('run, ioredis %s', (major) => {
  let redis: ReturnType<typeof connect>;
  beforeEach(() => {
    redis = connect(major, server.url);
  });

  test('gives keys and arguments by name, in the order of the definition', async () => {
    const args = { moreArgs: ['five', 6], fourth: 4.5, third: 'three' };
    const keys = { second: `${target}2`, moreKeys: [`${target}3`, `${target}4`], first: target };
    expect(await echo.run(redis, keys, args)).toEqual([
      4, 4, target, `${target}2`, `${target}3`, `${target}4`, 'three', '4.5', 'five', '6',
    ]); // prettier-ignore
  });

  test('sends EVALSHA; EVAL once, when the server does not know the script', async () => {
    const run = () => swap.run(redis, { target }, { value: 'v', fields: ['f'] });
    expect(await run()).toEqual([null]);
    expect(await calls()).toEqual({ evalsha: 1, eval: 1 });
    expect(await run()).toEqual(['v']);
    expect(await run()).toEqual(['v']);
    expect(await calls()).toEqual({ evalsha: 3, eval: 1 });
    await server.command('SCRIPT', 'FLUSH');
    expect(await run()).toEqual(['v']);
    expect(await calls()).toEqual({ evalsha: 4, eval: 2 });
  });

  test('sends the text at once when it is asked to, and the server knows it after that', async () => {
    expect(await swap.runWhole(redis, { target }, { value: 'v', fields: ['f'] })).toEqual([null]);
    expect(await calls()).toEqual({ eval: 1 });
    expect(await swap.run(redis, { target }, { value: 'w', fields: ['f'] })).toEqual(['v']);
    expect(await calls()).toEqual({ eval: 1, evalsha: 1 });
  });

  test('calls in flight during a SCRIPT FLUSH all succeed, once each', async () => {
    const fields = Array.from({ length: 50 }, (_, index) => String(index));
    const first = fields.map((field) => swap.run(redis, { target }, { value: 'a', fields: [field] }));
    const flushed = redis.script('FLUSH');
    const second = fields.map((field) => swap.run(redis, { target }, { value: 'b', fields: [field] }));
    await flushed;
    expect(await Promise.all(first)).toEqual(fields.map(() => [null]));
    expect(await Promise.all(second)).toEqual(fields.map(() => ['a']));
  });

  test.each([
    ['it succeeds', '0'],
    ['it fails', 'WRONGTYPE'],
  ])('calls keep their order when the server learns the script from the first, and %s', async (_, fails) => {
    const sent = jest.spyOn(redis, 'call');
    const run = (value: string) => swap.run(redis, { target }, { value, fields: ['f'] });
    const all = [
      fails === '0' ? run('a') : swap.run(redis, { target: `${target}:gate` }, { value: 'a', fields: ['f'] }),
    ];
    // The server answers the first call, and reads the later ones when this one is let through.
    const opened = redis.blpop(`${target}:gate`, 0);
    all.push(run('b'));
    await until('the text to be sent', () => sent.mock.calls.some(([command]) => command === 'eval'));
    all.push(run('c'));
    // Called when the server has answered the text, before its waiters go on.
    all.push(redis.exists(target).then(() => run('d')));
    await connect(major, server.url).rpush(`${target}:gate`, 'open', 'stays');
    await opened;
    const settled = await Promise.allSettled(all);
    expect(settled.slice(1)).toMatchObject([
      { value: [fails === '0' ? 'a' : null] },
      { value: ['b'] },
      { value: ['c'] },
    ]);
    expect(settled[0]!.status).toBe(fails === '0' ? 'fulfilled' : 'rejected');
    expect(await run('e')).toEqual(['d']);
    expect(await calls()).toEqual({ evalsha: 5, eval: 2 });
  });

  test('a script without writes goes through EVALSHA_RO and EVAL_RO', async () => {
    const run = () => count.run(redis, { tags: [target] }, { values: ['v'] });
    expect(await run()).toEqual([1, 1, target, 'v']);
    expect(await run()).toEqual([1, 1, target, 'v']);
    expect(await calls()).toEqual({ evalsha_ro: 2, eval_ro: 1 });
  });

  test('the server refuses a write in a script without writes', async () => {
    await expect(liar.run(redis, { target }, {})).rejects.toThrow(
      /Write commands are not allowed from read-only scripts/,
    );
    expect(await redis.exists(target)).toBe(0);
  });

  test('errors of Redis pass through, and are not tried again', async () => {
    await redis.set(target, 'a string');
    for (const evals of [1, 1]) {
      await expect(failing.run(redis, { target }, {})).rejects.toMatchObject({
        name: 'ReplyError',
        message: expect.stringMatching(/^WRONGTYPE /) as unknown,
      });
      expect(await calls()).toMatchObject({ eval: evals });
    }
    expect(await calls()).toEqual({ evalsha: 2, eval: 1 });
  });

  test('a call on a closed client rejects with ERR_CLIENT_CLOSED', async () => {
    await redis.ping();
    redis.disconnect();
    const run = () => swap.run(redis, { target }, { value: 'v', fields: [] });
    await expect(run()).rejects.toMatchObject({ code: 'ERR_CLIENT_CLOSED' });
    await until('the end', () => redis.status === 'end');
    await expect(run()).rejects.toMatchObject({ code: 'ERR_CLIENT_CLOSED' });
  });

  test('the server refuses keys of two slots', async () => {
    const other = new KeySpace('test', randomUUID()).entity('y').key('target');
    const keys = { first: target, second: other, moreKeys: [] };
    await expect(echo.run(redis, keys, { third: 1, fourth: 2, moreArgs: [] })).rejects.toThrow(/^CROSSSLOT /);
  });

  test('the server refuses a key of another slot that is not declared', async () => {
    const other = new KeySpace('test', randomUUID()).entity('y').key('target');
    await expect(trespasser.run(redis, { target }, { undeclared: other })).rejects.toThrow(
      /undeclared key|do not hash to the same slot/,
    );
    expect(await trespasser.run(redis, { target }, { undeclared: `${target}2` })).toBeNull();
  });

  test('takes 20,000 arguments, and 200,000', async () => {
    for (const length of [20_000, 200_000]) {
      const values = Array.from({ length }, (_, index) => index);
      expect(await count.run(redis, { tags: [target] }, { values })).toEqual([
        1,
        length,
        target,
        String(length - 1),
      ]);
    }
  });

  test('takes 20,000 keys', async () => {
    const tags = Array.from({ length: 20_000 }, (_, index) => `${target}:${index}`);
    expect(await count.run(redis, { tags }, { values: [] })).toEqual([20_000, 0, tags.at(-1)]);
  });

  test('with automatic pipelining', async () => {
    const pipelining = connect(major, server.url, { enableAutoPipelining: true });
    const fields = Array.from({ length: 20 }, (_, index) => String(index));
    const run = (value: string) =>
      Promise.all(fields.map((field) => swap.run(pipelining, { target }, { value, fields: [field] })));
    expect(await run('a')).toEqual(fields.map(() => [null]));
    expect(await run('b')).toEqual(fields.map(() => ['a']));
  });
});

describe('runBuffer', () => {
  test.each(MAJORS)('passes any bytes in and out, ioredis %s', async (major) => {
    const redis = connect(major, server.url);
    const bytes = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));
    const run = () => swap.runBuffer(redis, { target }, { value: bytes, fields: [bytes, 'f'] });
    expect(await run()).toEqual([null, null]);
    expect(await run()).toEqual([bytes, bytes]);
    expect(await redis.hgetBuffer(target, bytes)).toEqual(bytes);
  });
});

describe('misuse', () => {
  const untouched = {} as RedisConnection;

  test.each([
    [
      'a key',
      () =>
        echo.run(untouched, { second: 'b', moreKeys: [] } as never, { third: 1, fourth: 1, moreArgs: [] }),
      'first',
    ],
    [
      'the rest of the keys',
      () => echo.run(untouched, { first: 'a', second: 'b' } as never, { third: 1, fourth: 1, moreArgs: [] }),
      'moreKeys',
    ],
    [
      'an argument',
      () => swap.run(untouched, { target: 'a' }, { value: undefined as never, fields: [] }),
      'value',
    ],
    [
      'the rest of the arguments',
      () => swap.run(untouched, { target: 'a' }, { value: 1 } as never),
      'fields',
    ],
  ])('%s that is missing is refused before anything is sent', async (_, run, name) => {
    await expect(run()).rejects.toThrow(new RegExp(`^script test\\.\\w+: ${name} is missing$`));
  });
});

test('the hash is that of the server', async () => {
  const script = new Script({ name: 'é', isReadOnly: true, keys: [], args: [], source: "return '€'" });
  expect(await server.command('SCRIPT', 'LOAD', script.definition.source)).toBe(script.sha1);
});
