import { describe, expect, test } from '@jest/globals';
import { Discard } from '@mortise/queues';
import { serverNow } from '../fixture/set-due.js';
import { newQueue, redis } from '../fixture/new-queue.js';
import { counted, until } from '../fixture/until.js';

interface Piece {
  group: string;
  n: number;
}

function task(
  group: string,
  n: number,
  options: object = {},
): { name: 't'; payload: Piece; options: object } {
  return { name: 't', payload: { group, n }, options: { group, ...options } };
}

/** Keys that groups have left, except the counter of turns. */
async function traces(prefix: string): Promise<string[]> {
  const keys = ['grouped', 'runnableGroups', 'limitedGroups'].map((part) => `${prefix}:queues:{q}:${part}`);
  const left = await Promise.all(keys.map(async (key) => ((await redis.exists(key)) === 1 ? [key] : [])));
  const groups = await redis.hkeys(`${prefix}:queues:{q}:groups`);
  return [...left.flat(), ...groups.filter((group) => group !== '')];
}

describe('groups', () => {
  test('leave half to tasks without a group, also at a worker that takes one at a time', async () => {
    const { queue, work } = newQueue();
    const alone = { name: 't' as const, payload: { group: '', n: 0 } };
    await queue.enqueueMany([
      ...Array.from({ length: 100 }, (_, n) => task(`g${n % 5}`, n)),
      ...Array.from({ length: 20 }, () => alone),
    ]);
    const run: string[] = [];
    const handlers = { t: ({ group }: Piece) => void run.push(group) };
    await work(handlers, { concurrency: 1 });
    await until(() => run.length === 120);
    // By chance: 20 heads in fewer than 100 throws.
    expect(run.slice(0, 100).filter((group) => group === '')).toHaveLength(20);
  });

  test('take turns, however much each has waiting', async () => {
    const { queue, prefix, work } = newQueue();
    await queue.enqueueMany([
      ...Array.from({ length: 30 }, (_, n) => task('large', n)),
      ...Array.from({ length: 3 }, (_, n) => task('small', n)),
      ...Array.from({ length: 2 }, (_, n) => task('}x\n', n)),
    ]);
    expect(await queue.counts()).toMatchObject({ ready: 35 });
    const run: string[] = [];
    await work({ t: ({ group, n }: Piece) => void run.push(`${group} ${n}`) }, { concurrency: 1 });
    await until(() => run.length === 35);
    expect(run.slice(0, 8)).toEqual([
      'large 0',
      'small 0',
      '}x\n 0',
      'large 1',
      'small 1',
      '}x\n 1',
      'large 2',
      'small 2',
    ]);
    expect(run.slice(8)).toEqual(Array.from({ length: 27 }, (_, index) => `large ${index + 3}`));
    await counted(queue, { succeeded: 35 });
    expect(await traces(prefix)).toEqual([]);
  });

  test('priorities go before turns, within a group and between groups', async () => {
    const { queue, work } = newQueue();
    await queue.enqueueMany([
      task('a', 0, { priority: 'low' }),
      task('b', 1, { priority: 'low' }),
      task('b', 2, { priority: 'high' }),
      task('a', 3, { priority: 'high' }),
      task('a', 4, { priority: 'medium' }),
    ]);
    const run: number[] = [];
    await work({ t: ({ n }: Piece) => void run.push(n) }, { concurrency: 1 });
    await until(() => run.length === 5);
    expect(new Set(run.slice(0, 2))).toEqual(new Set([2, 3]));
    expect(run[2]).toBe(4);
    expect(new Set(run.slice(3))).toEqual(new Set([0, 1]));
  });

  test('tasks without a group are not starved by groups, nor the other way round', async () => {
    const { queue, work } = newQueue();
    await queue.enqueueMany([
      ...Array.from({ length: 20 }, (_, n) => task('g', n)),
      ...Array.from({ length: 20 }, (_, n) => ({ name: 't' as const, payload: { group: '', n } })),
    ]);
    const run: string[] = [];
    await work({ t: ({ group }: Piece) => void run.push(group) }, { concurrency: 4 });
    await until(() => run.length === 40);
    const early = run.slice(0, 16);
    expect(early.filter((group) => group === 'g').length).toBeGreaterThan(3);
    expect(early.filter((group) => group === '').length).toBeGreaterThan(3);
  });

  test('the concurrency of a group holds for all workers together', async () => {
    const { queue, prefix, work } = newQueue();
    await queue.configure({ groups: { concurrency: 2 } });
    await queue.enqueueMany(
      ['a', 'b', 'c'].flatMap((group) => Array.from({ length: 10 }, (_, n) => task(group, n))),
    );
    const running = new Map<string, number>();
    let most = 0;
    let done = 0;
    const handler = async ({ group }: Piece): Promise<void> => {
      const count = (running.get(group) ?? 0) + 1;
      running.set(group, count);
      most = Math.max(most, count);
      await redis.ping();
      running.set(group, running.get(group)! - 1);
      done += 1;
    };
    for (let index = 0; index < 3; index += 1) await work({ t: handler });
    await until(() => done === 30);
    expect(most).toBe(2);
    await counted(queue, { succeeded: 30 });
    expect(await traces(prefix)).toEqual([]);
  });

  test('an ordered group waits for its present task, through its retries, and goes on when that is dead', async () => {
    const { queue, prefix, work } = newQueue();
    await queue.configure({ groups: { ordered: true } });
    await queue.enqueueMany([
      task('a', 0, { attempts: 3, backoff: { type: 'fixed', delayMs: 20, jitter: 0 } }),
      task('a', 1),
      task('b', 0),
      task('a', 2),
    ]);
    const run: string[] = [];
    const handler = ({ group, n }: Piece): void => {
      run.push(`${group}${n}`);
      if (group === 'a' && n === 0) throw new Error('again');
    };
    await work({ t: handler });
    await until(() => run.length === 6);
    expect(run.filter((one) => one.startsWith('a'))).toEqual(['a0', 'a0', 'a0', 'a1', 'a2']);
    expect(run.indexOf('b0')).toBeLessThan(run.lastIndexOf('a0'));
    await counted(queue, { succeeded: 3 });
    expect(await queue.counts()).toMatchObject({ dead: 1, active: 0, ready: 0, retrying: 0 });
    expect(await traces(prefix)).toEqual([]);
  });

  test('an ordered group runs one after the other among many workers, whatever fails', async () => {
    const { queue, prefix, work } = newQueue();
    await queue.configure({ groups: { ordered: true } });
    const groups = ['a', 'b', 'c', 'd'];
    const options = { attempts: 20, backoff: { type: 'fixed', delayMs: 1, jitter: 0 } };
    await queue.enqueueMany(
      Array.from({ length: 25 }, (_, n) => groups.map((group) => task(group, n, options))).flat(),
    );
    const succeeded = new Map(groups.map((group) => [group, [] as number[]]));
    let tries = 0;
    const handler = async ({ group, n }: Piece): Promise<void> => {
      await redis.ping();
      tries += 1;
      if (tries % 3 === 0) throw new Error('now and then');
      if (tries % 41 === 0) throw new Discard('gone');
      succeeded.get(group)!.push(n);
    };
    for (let index = 0; index < 3; index += 1) await work({ t: handler }, { concurrency: 10 });
    await until(async () => {
      const { succeeded: ended, dead } = await queue.counts();
      return ended + dead === 100;
    });
    for (const order of succeeded.values()) expect(order).toEqual(order.toSorted((a, b) => a - b));
    expect(await traces(prefix)).toEqual([]);
  });

  test('a delayed task joins its group when it falls due, before those that came without', async () => {
    const { queue, work } = newQueue();
    await queue.configure({ groups: { concurrency: 1 } });
    await queue.enqueueMany([task('a', 0), task('a', 1), task('a', 9, { delayMs: 1 })]);
    await counted(queue, { scheduled: 0 });
    const run: number[] = [];
    await work({ t: ({ n }: Piece) => void run.push(n) }, { concurrency: 1 });
    await until(() => run.length === 3);
    expect(run).toEqual([9, 0, 1]);
  });

  test('the rate of a group spreads its starts and leaves other groups alone', async () => {
    const { queue, prefix, work } = newQueue();
    await queue.configure({ groups: { rate: { limit: 20, periodMs: 1_000 } } });
    await queue.enqueueMany([
      ...Array.from({ length: 8 }, (_, n) => task('slow', n)),
      ...Array.from({ length: 4 }, (_, n) => task(`g${n}`, n)),
    ]);
    const startedAt = new Map<string, number[]>();
    const begin = (await serverNow(redis)) * 1_000;
    const handler = async ({ group }: Piece, { id }: { id: string }): Promise<void> => {
      const mark = await redis.hgetBuffer(
        `${prefix}:queues:{q}:attempts`,
        Buffer.from(id.replaceAll('-', ''), 'hex'),
      );
      const at = ((mark!.readUInt32BE(1) - (begin % 2 ** 32) + 2 ** 32) % 2 ** 32) / 1_000;
      startedAt.set(group, [...(startedAt.get(group) ?? []), at]);
    };
    await work({ t: handler });
    await until(() => startedAt.get('slow')?.length === 8);
    const slow = startedAt.get('slow')!;
    for (let index = 1; index < 8; index += 1) {
      expect(slow[index]! - slow[index - 1]!).toBeGreaterThanOrEqual(49);
    }
    for (const group of ['g0', 'g1', 'g2', 'g3']) expect(startedAt.get(group)![0]).toBe(slow[0]);
    await until(async () => (await traces(prefix)).length === 0);
  });

  test('a worker that dies frees its groups when its leases end', async () => {
    const { queue, prefix, work } = newQueue();
    await queue.configure({ groups: { ordered: true } });
    await queue.enqueueMany([task('a', 0), task('a', 1)]);
    const held = await work({ t: () => new Promise<void>(() => {}) });
    await counted(queue, { active: 1 });
    await held.stop({ graceMs: 0 });
    const run: number[] = [];
    await work({ t: ({ n }: Piece) => void run.push(n) });
    await until(() => run.length === 2);
    expect(run).toEqual([0, 1]);
    await counted(queue, { succeeded: 2 });
    expect(await traces(prefix)).toEqual([]);
  });

  test.each(['', 5, 'x'.repeat(1_025), '\ud800'])('%j is no group', async (group) => {
    const { queue } = newQueue();
    await expect(queue.enqueue('t', { group: '', n: 1 }, { group: group as string })).rejects.toThrow(
      'group',
    );
  });
});
