/** Types that the compiler accepts and refuses; an unused `@ts-expect-error` fails the type check. */
import { describe, expect, test } from '@jest/globals';
import * as five from '@redis/client';
import { Cluster, Redis } from 'ioredis';
import { Cluster as Cluster5, Redis as Redis5 } from 'ioredis5';
import type { RedisClient, ScriptArgs, ScriptDefinition, ScriptKeys, Wake } from '../src/index.js';
import { CodedError, Coalescer, Script, WaiterHub, requireClient, requireOneOf } from '../src/index.js';
import * as six from 'node-redis6';
import { fromNodeRedis } from '../src/node-redis/index.js';
import { count, echo, swap } from './fixture/scripts.js';

const lazy = { lazyConnect: true };

describe('RedisClient', () => {
  test('is every client of ioredis 5 and 6', () => {
    const clients: RedisClient[] = [
      new Redis(lazy),
      new Redis5(lazy),
      new Cluster([{ port: 1 }], lazy),
      new Cluster5([{ port: 1 }], lazy),
    ];
    expect(clients.map(({ isCluster }) => isCluster)).toEqual([false, false, true, true]);
  });

  test('is nothing else', () => {
    const pipeline = new Redis(lazy).pipeline();
    // @ts-expect-error -- a pipeline has no connection of its own
    expect(() => requireClient(pipeline)).toThrow(TypeError);
    // @ts-expect-error -- neither have options
    expect(() => requireClient({ host: '127.0.0.1' })).toThrow(TypeError);
    // @ts-expect-error -- nor an address
    expect(() => WaiterHub.of('redis://127.0.0.1')).toThrow(TypeError);
  });
});

describe('fromNodeRedis', () => {
  test('takes every client of createClient and createCluster, and gives a RedisClient', () => {
    const rootNodes = [{ socket: { port: 1 } }];
    const clients: RedisClient[] = [
      fromNodeRedis(five.createClient()),
      fromNodeRedis(five.createClient({ RESP: 3 })),
      fromNodeRedis(five.createCluster({ rootNodes })),
      fromNodeRedis(six.createClient({ RESP: 2 })),
      fromNodeRedis(six.createCluster({ rootNodes, RESP: 3 })),
    ];
    expect(clients.map(({ isCluster }) => isCluster)).toEqual([false, false, true, false, true]);
  });

  test('and nothing else', () => {
    // @ts-expect-error -- a client of ioredis fits as it is
    expect(() => fromNodeRedis(new Redis(lazy))).toThrow(TypeError);
    // @ts-expect-error -- not supported
    expect(() => fromNodeRedis(five.createSentinel({ name: 'x', sentinelRootNodes: [] }))).toThrow(TypeError);
    // @ts-expect-error -- calls would lose their order
    expect(() => fromNodeRedis(five.createClientPool())).toThrow(TypeError);
  });
});

describe('Script', () => {
  const untouched = {} as RedisClient;
  const runs: (() => Promise<unknown>)[] = [];
  /** Only compiled: nothing of this is run. */
  const compiled = (run: () => Promise<unknown>): void => void runs.push(run);

  test('takes each key and argument by its name', () => {
    compiled(() =>
      swap.run(untouched, { target: 'k' }, { value: Buffer.of(1), fields: ['a', 2, Buffer.of(3)] }),
    );
    compiled(() =>
      echo.runBuffer(
        untouched,
        { first: 'a', second: 'b', moreKeys: [] },
        { third: 1, fourth: '', moreArgs: [] },
      ),
    );
    compiled(() => count.run(untouched, { tags: [] as readonly string[] }, { values: [] }));
    expect(runs).toHaveLength(3);
  });

  test('refuses names that are missing, too many or of another type', () => {
    // @ts-expect-error -- no key
    compiled(() => swap.run(untouched, {}, { value: 1, fields: [] }));
    // @ts-expect-error -- another key
    compiled(() => swap.run(untouched, { target: 'k', other: 'k' }, { value: 1, fields: [] }));
    // @ts-expect-error -- no argument
    compiled(() => swap.run(untouched, { target: 'k' }, { fields: [] }));
    // @ts-expect-error -- another argument
    compiled(() => swap.run(untouched, { target: 'k' }, { value: 1, fields: [], more: 1 }));
    // @ts-expect-error -- no rest
    compiled(() => swap.run(untouched, { target: 'k' }, { value: 1 }));
    // @ts-expect-error -- the rest is a list
    compiled(() => swap.run(untouched, { target: 'k' }, { value: 1, fields: 'f' }));
    // @ts-expect-error -- a key is a string
    compiled(() => swap.run(untouched, { target: 5 }, { value: 1, fields: [] }));
    // @ts-expect-error -- an argument is text, bytes or a number
    compiled(() => swap.run(untouched, { target: 'k' }, { value: true, fields: [] }));
    // @ts-expect-error -- and never undefined
    compiled(() => swap.run(untouched, { target: 'k' }, { value: undefined, fields: [] }));
    expect(runs.length).toBeGreaterThan(3);
  });

  test('has keys and arguments as types', () => {
    const keys: ScriptKeys<typeof echo.definition> = { first: 'a', second: 'b', moreKeys: ['c'] };
    const args: ScriptArgs<typeof swap.definition> = { value: 1, fields: ['f'] };
    const plain: ScriptDefinition = swap.definition;
    expect([Object.keys(keys), Object.keys(args), plain.name]).toEqual([
      ['first', 'second', 'moreKeys'],
      ['value', 'fields'],
      'test.swap',
    ]);
  });

  test('infers the names without "as const" too', () => {
    const script = new Script({
      name: 'x.y',
      isReadOnly: false,
      keys: ['only'],
      args: [],
      source: '#!lua\n',
    });
    // @ts-expect-error -- the key is called only
    compiled(() => script.run(untouched, { other: 'k' }, {}));
    expect(script.definition.keys).toEqual(['only']);
  });
});

describe('the rest', () => {
  test('a coalescer gives the result of its send', async () => {
    const lengths = new Coalescer<string, string, number>(
      async (_, texts) => texts.map(({ length }) => length),
      {
        maxBatch: 10,
      },
    );
    const length: number = await lengths.submit('g', 'abc');
    // @ts-expect-error -- a request is a string
    const wrong: Promise<number> = lengths.submit('g', 5);
    await expect(wrong).resolves.toBeUndefined();
    expect(length).toBe(3);
    // @ts-expect-error -- maxBatch is required
    expect(() => new Coalescer(async () => [], {})).toThrow(TypeError);
  });

  test('a code begins with ERR_', () => {
    class Good extends CodedError {
      readonly code = 'ERR_GOOD';
    }
    class Bad extends CodedError {
      // @ts-expect-error -- not ERR_…
      readonly code = 'BAD';
    }
    expect([new Good().code, new Bad().code]).toEqual(['ERR_GOOD', 'BAD']);
  });

  test('a wake has one of three types', () => {
    const text = (wake: Wake): string => (wake.type === 'message' ? wake.body.toString() : wake.type);
    // @ts-expect-error -- only a message has a body
    const body = (wake: Wake): Buffer => wake.body;
    expect([text({ type: 'resync' }), body({ type: 'timeout' })]).toEqual(['resync', undefined]);
  });

  test('requireOneOf narrows', () => {
    const order: 'a' | 'b' = requireOneOf('order', 'a', ['a', 'b']);
    // @ts-expect-error -- b is none of the words
    const other: 'b' = requireOneOf('order', 'a', ['a']);
    expect([order, other]).toEqual(['a', 'a']);
  });
});
