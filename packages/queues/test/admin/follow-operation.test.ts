import { afterAll, describe, expect, jest, test } from '@jest/globals';
import { Queue } from '@mortise/queues';
import { BulkOperations } from '@mortise/queues/admin';
import type { BulkOperation } from '@mortise/queues/admin';
import { TestQueues } from '@mortise/queues/testing';
import { callRedis, WaiterHub } from '@mortise/redis';
import type { RedisClient } from '@mortise/redis';
import { connect, freshPrefix, until } from '@mortise/test-kit';
import { redis } from '../fixture/new-queue.js';

const prefix = freshPrefix();
const operations = new BulkOperations(redis, { prefix });
/** Of another process. */
const itsRedis = connect();
const others = new BulkOperations(itsRedis, { prefix });
afterAll(() => operations.stop());

const keyOf = (id: string): string => `${prefix}:queues:{${id}}:operation`;
const channelOf = (id: string): string => `${prefix}:queues:{${id}}:operation-written`;

async function store(
  id: string,
  changes: Partial<BulkOperation>,
  client: RedisClient = redis,
): Promise<void> {
  const now = Date.now();
  const operation: BulkOperation = {
    id,
    queue: 'mail',
    action: 'retry',
    state: 'dead',
    limit: 10,
    status: 'running',
    changed: 0,
    skipped: 0,
    startedAt: now,
    updatedAt: now,
    ...changes,
  };
  await callRedis(client, 'SET', [keyOf(id), JSON.stringify(operation), 'PX', 60_000]);
}
/** As the process of the operation does it after a write. */
const publish = (id: string): Promise<unknown> =>
  redis.call(WaiterHub.of(redis).publishCommand, [channelOf(id), '*:']);

/** The values of a follower so far. */
function followed(
  id: string,
  signal?: AbortSignal,
  its = others,
): { values: BulkOperation[]; end: Promise<void> } {
  const values: BulkOperation[] = [];
  const end = (async () => {
    for await (const value of its.follow(id, { signal })) values.push(value);
  })();
  // After an expectation that fails, nobody awaits it.
  end.catch(() => undefined);
  return { values, end };
}

describe('follow', () => {
  test('yields how far an operation of another process is, until its end', async () => {
    const queue = new Queue(redis, 'whole', { prefix });
    const tasks = Array.from({ length: 1_000 }, (_, n) => ({ name: 'a', payload: n }));
    await queue.enqueueMany(tasks);
    const { id } = await operations.start(queue, { action: 'remove', state: 'ready' });
    const { values, end } = followed(id);
    await end;
    expect(values.at(-1)).toMatchObject({ id, status: 'completed', changed: 1_000 });
    expect(values.slice(0, -1).every(({ status }) => status === 'running')).toBe(true);
    expect(await operations.get(id)).toEqual(values.at(-1));
  });

  test('is woken by each write, and yields no value twice', async () => {
    await store('woken', {});
    const { values, end } = followed('woken');
    await until('the first value', () => values.length === 1);
    for (const changed of [1, 2]) {
      await store('woken', { changed });
      const startedAt = performance.now();
      await publish('woken');
      await publish('woken');
      await until('the next value', () => values.length === changed + 1);
      expect(performance.now() - startedAt).toBeLessThan(1_000);
    }
    await store('woken', { changed: 3, status: 'completed' });
    await publish('woken');
    await end;
    expect(values.map(({ changed }) => changed)).toEqual([0, 1, 2, 3]);
  });

  test('yields nothing for an unknown id', async () => {
    const { values, end } = followed('unknown');
    await end;
    expect(values).toEqual([]);
  });

  test('ends with its signal, without an error', async () => {
    await store('left', {});
    const controller = new AbortController();
    const { values, end } = followed('left', controller.signal);
    await until('the first value', () => values.length === 1);
    controller.abort();
    await end;
    const after = followed('left', AbortSignal.abort());
    await after.end;
    expect([values.length, after.values]).toEqual([1, []]);
  });

  test('reads nothing while nothing is written, and yields interrupted after ten seconds', async () => {
    // Its clock moves at once.
    await using memory = new TestQueues();
    const quiet = new BulkOperations(memory.redis, { prefix });
    await store('quiet', {}, memory.redis);
    const { values, end } = followed('quiet', undefined, quiet);
    await memory.clock.advance(0);
    expect(values).toHaveLength(1);
    const calls = jest.spyOn(memory.redis, 'call');
    await memory.clock.advance(9_999);
    expect(calls).not.toHaveBeenCalled();
    await memory.clock.advance(2);
    await end;
    expect(calls).toHaveBeenCalled();
    expect(values.map(({ status }) => status)).toEqual(['running', 'interrupted']);
    await quiet.stop();
  });

  test('refuses options that it does not have', () => {
    expect(() => operations.follow('a', { limit: 1 } as object)).toThrow('limit');
    expect(() => operations.follow('')).toThrow('id');
  });
});
