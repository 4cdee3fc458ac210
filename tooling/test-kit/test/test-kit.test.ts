import { describe, expect, test } from '@jest/globals';
import { commandTable, commands, connect, freshPrefix, interposed, resending } from '../src/index.js';

const redis = connect();

describe('commands', () => {
  const prefix = freshPrefix();
  const key = (name: string): string => `${prefix}:queues:{q}:${name}`;
  const text = `for index = 1, 3 do redis.call('get', KEYS[1]) redis.call('set', KEYS[2], index) end`;

  test('are a line each, with repetitions counted, and keys without what all have in common', async () => {
    const sha1 = (await redis.script('LOAD', text)) as string;
    const scope = { prefix, scripts: { copy: { sha1, definition: { name: 'queue.copy' } } } };
    const copy = () => redis.evalsha(sha1, 2, key('a'), key('b'));
    const all = await commands(redis, scope, async () => [await redis.get(key('a')), await copy()]);
    expect(all).toBe('get a\nqueue.copy:  (get a · set b) ×3');
    const steps = {
      copy: () => Promise.all([copy(), copy()]),
      read: async () => [await redis.get(key('a')), await redis.get(key('b'))],
      rest: async () => undefined,
    };
    expect(await commandTable(redis, { ...scope, show: 'outside' }, steps)).toBe(
      'copy → queue.copy ×2\nread → get a | get b\nrest → nothing',
    );
    const edit = (lines: readonly string[]) => lines.filter((line) => !line.startsWith('get'));
    expect(await commands(redis, { ...scope, edit }, steps.read)).toBe('');
  });
});

describe('resending', () => {
  test('executes each command and each pipeline twice and returns the second reply', async () => {
    const key = freshPrefix();
    const client = resending(redis);
    expect(await client.call('incr', [key])).toBe(2);
    const pipeline = client.pipeline().incr(key);
    await expect(pipeline.call('incr', [key]).exec()).resolves.toEqual([
      [null, 5],
      [null, 6],
    ]);
    expect(await redis.get(key)).toBe('6');
  });
});

test('interposed counts the steps of a client and shows their arguments', async () => {
  const seen: unknown[] = [];
  const client = interposed(redis, async (step, send, args) => {
    seen.push([step, ...args]);
    return step === 2 ? 'lost' : send();
  });
  const key = freshPrefix();
  expect([await client.call('incr', [key]), await client.call('get', key)]).toEqual([1, 'lost']);
  await client.pipeline().incr(key).exec();
  expect(seen).toEqual([[1, 'incr', key], [2, 'get', key], [3]]);
});
