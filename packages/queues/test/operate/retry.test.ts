import { describe, expect, test } from '@jest/globals';
import type { TaskState } from '@mortise/queues';
import { connect } from '@mortise/test-kit';
import { launch } from '../fixture/launch.js';
import { Bench, HOSTILE_IDS } from '../fixture/bench.js';
import { age } from '../fixture/age.js';
import { until } from '../fixture/until.js';

const redis = connect();

/** Dead tasks, as those that failed all their attempts. */
async function dead(bench: Bench, ids: readonly string[], name = 't'): Promise<void> {
  const worker = await launch(
    redis,
    'q',
    {
      [name]: () => {
        throw new Error('broken');
      },
    },
    { prefix: bench.prefix, backoff: { delayMs: 0 } },
  );
  const before = (await bench.queue.counts()).dead;
  await bench.queue.enqueueMany(
    ids.map((id) => ({ name, payload: id, options: { id, attempts: 2, priority: 'low' } })),
  );
  await until(async () => (await bench.queue.counts()).dead === before + ids.length);
  await worker.stop();
}

describe('retry', () => {
  test('a dead task has all its attempts again', async () => {
    const bench = new Bench({}, redis);
    await dead(bench, ['a']);
    const before = (await bench.queue.get('a'))!;
    expect(before).toMatchObject({ state: 'dead', attempt: 2 });
    expect(await bench.queue.retry('a')).toBe(true);
    const after = (await bench.queue.get('a'))!;
    expect(after).toMatchObject({ state: 'ready', attempt: 0, attempts: 2, priority: 'low', payload: 'a' });
    expect(after.error).toContain('broken');
    expect(after.enqueuedAt).toBeGreaterThan(before.enqueuedAt);
    await bench.expectCounts({ ready: 1 });
    const attempts: number[] = [];
    await launch(
      redis,
      'q',
      {
        t: (_, { attempt }) => {
          attempts.push(attempt);
          throw new Error('still broken');
        },
      },
      { prefix: bench.prefix, backoff: { delayMs: 0 } },
    );
    await until(async () => (await bench.queue.get('a'))?.state === 'dead');
    expect(attempts).toEqual([1, 2]);
  });

  test('a cancelled task, waiting or with a group', async () => {
    const bench = new Bench({}, redis);
    for (const [id, options] of [
      ['a', {}],
      ['b', { group: 'g' }],
      ['c', { delayMs: 60_000 }],
    ] as const) {
      await bench.task('ready', id, options);
      await bench.queue.cancel(id);
      expect(await bench.queue.retry(id)).toBe(true);
      expect(await bench.queue.get(id)).toMatchObject({ state: 'ready', attempt: 0 });
    }
    await bench.expectCounts({ ready: 3 });
    await bench.work();
    await until(async () => (await bench.queue.counts()).succeeded === 3);
    expect(await bench.keysLeft()).toEqual(['attempts', 'groups', 'succeeded', 'tasks']);
  });

  test('a task that was running when it was cancelled', async () => {
    const bench = new Bench({}, redis);
    await bench.work();
    await bench.task('active', 'a');
    const first = await until(() => bench.hanging.get('a'));
    await bench.queue.cancel('a');
    expect(await bench.queue.retry('a')).toBe(true);
    await until(() => bench.hanging.get('a') !== first);
    expect(await bench.queue.get('a')).toMatchObject({ state: 'active', attempt: 1 });
    // Later calls of the first one no longer count.
    expect(bench.hanging.get('a')!.signal.aborted).toBe(false);
  });

  test('a task that expired has its time again', async () => {
    const bench = new Bench({}, redis);
    await bench.task('ready', 'a', { expiresInMs: 3_600_000 });
    await age(redis, bench.keys, 'a', 3_600_001);
    await bench.work();
    await until(async () => (await bench.queue.get('a'))?.state === 'dead');
    expect(await bench.queue.retry('a')).toBe(true);
    await until(async () => (await bench.queue.get('a'))?.state === 'succeeded');
  });

  test('a retrying task runs now, and its attempts stay counted', async () => {
    const bench = new Bench({}, redis);
    await bench.work();
    await bench.task('retrying', 'a');
    expect(await bench.queue.retry('a')).toBe(true);
    await until(async () => (await bench.queue.get('a'))?.attempt === 2);
  });

  test.each<TaskState>(['ready', 'scheduled', 'active', 'succeeded'])(
    'false for a %s task',
    async (state) => {
      const bench = new Bench({}, redis);
      if (state !== 'ready') await bench.work();
      const id = await bench.task(state);
      expect(await bench.queue.retry(id)).toBe(false);
      expect(await bench.queue.get(id)).toMatchObject({ state });
      expect(await bench.queue.retry('nobody')).toBe(false);
    },
  );

  test('of two concurrent calls one resolves to true, and it runs once', async () => {
    const bench = new Bench({}, redis);
    await dead(bench, HOSTILE_IDS);
    const other = new Bench({}, connect());
    const answers = await Promise.all(
      HOSTILE_IDS.flatMap((id) => [bench.queue.retry(id), bench.queue.retry(id)]),
    );
    expect(answers.filter(Boolean)).toHaveLength(HOSTILE_IDS.length);
    await bench.expectCounts({ ready: HOSTILE_IDS.length });
    const ran: string[] = [];
    await launch(other.redis, 'q', { t: (id) => void ran.push(id as string) }, { prefix: bench.prefix });
    await until(async () => (await bench.queue.counts()).succeeded === HOSTILE_IDS.length);
    expect(ran.toSorted()).toEqual(HOSTILE_IDS.toSorted());
  });

  test('wakes an idle worker', async () => {
    const bench = new Bench({}, redis);
    await bench.work();
    const id = await bench.task('dead');
    const { finishedAt } = (await bench.queue.get(id))!;
    await until(async () => (await redis.zcard(bench.keys.of.idle)) === 1);
    await bench.queue.retry(id);
    const later = async (): Promise<boolean> => ((await bench.queue.get(id))?.finishedAt ?? 0) > finishedAt!;
    // Sooner than it would look by itself.
    await expect(until(later, 2_500)).resolves.toBe(true);
  });
});

describe('promote', () => {
  test('a scheduled or retrying task is due now', async () => {
    const bench = new Bench({}, redis);
    await bench.work();
    const scheduled = await bench.task('scheduled');
    await bench.task('retrying', 'a');
    expect(await bench.queue.promote(scheduled)).toBe(true);
    expect(await bench.queue.promote('a')).toBe(true);
    await until(async () => (await bench.queue.get(scheduled))?.state === 'succeeded');
    await until(async () => (await bench.queue.get('a'))?.attempt === 2);
  });

  test('a scheduled task with a group', async () => {
    const bench = new Bench({}, redis);
    await bench.work();
    await bench.task('scheduled', 'a', { group: 'g' });
    expect(await bench.queue.promote('a')).toBe(true);
    await until(async () => (await bench.queue.get('a'))?.state === 'succeeded');
  });

  test.each<TaskState>(['ready', 'active', 'succeeded', 'dead', 'cancelled'])(
    'false for a %s task',
    async (state) => {
      const bench = new Bench({}, redis);
      if (state !== 'ready') await bench.work();
      const id = await bench.task(state);
      expect(await bench.queue.promote(id)).toBe(false);
      expect(await bench.queue.get(id)).toMatchObject({ state });
      expect(await bench.queue.promote('nobody')).toBe(false);
    },
  );

  test('of two concurrent calls one resolves to true', async () => {
    const bench = new Bench({}, redis);
    const id = await bench.task('scheduled');
    const answers = await Promise.all([bench.queue.promote(id), bench.queue.promote(id)]);
    expect(answers.filter(Boolean)).toHaveLength(1);
    await bench.expectCounts({ ready: 1 });
  });
});

describe('retryAll', () => {
  const ids = (from: string, count: number): string[] =>
    Array.from({ length: count }, (_, n) => `${from}${n}`);

  test('all dead tasks, over several calls', async () => {
    const bench = new Bench({}, redis);
    await dead(bench, ids('n', 1_100));
    expect(await bench.queue.retryAll()).toBe(1_100);
    await bench.expectCounts({ ready: 1_100 });
    expect(await bench.queue.retryAll()).toBe(0);
  });

  test('of one name, and up to a limit', async () => {
    const bench = new Bench({}, redis);
    await dead(bench, ids('s', 600), 'some');
    await dead(bench, ids('o', 700), 'other');
    expect(await bench.queue.retryAll({ name: 'nobody' })).toBe(0);
    expect(await bench.queue.retryAll({ name: 'some' })).toBe(600);
    await bench.expectCounts({ ready: 600, dead: 700 });
    expect(await bench.queue.retryAll({ limit: 50 })).toBe(50);
    await bench.expectCounts({ ready: 650, dead: 650 });
  });

  test('all cancelled ones, in all shards', async () => {
    const bench = new Bench({ shards: 3 }, redis);
    for (const id of ids('n', 30)) await bench.task('cancelled', id);
    expect(await bench.queue.retryAll({ state: 'cancelled' })).toBe(30);
    await bench.expectCounts({ ready: 30 });
  });

  test('those that die again meanwhile are left', async () => {
    const bench = new Bench({}, redis);
    await bench.work();
    await bench.queue.enqueueMany(
      ids('n', 1_500).map((id) => ({ name: 'die', payload: 0, options: { id } })),
    );
    await until(async () => (await bench.queue.counts()).dead === 1_500);
    expect(await bench.queue.retryAll()).toBe(1_500);
    await until(async () => (await bench.queue.counts()).dead === 1_500);
  });

  test('refuses other states and limits', async () => {
    const { queue } = new Bench({}, redis);
    await expect(queue.retryAll({ state: 'succeeded' as never })).rejects.toThrow(RangeError);
    for (const limit of [0, -1, 1.5, Number.NaN])
      await expect(queue.retryAll({ limit })).rejects.toThrow(RangeError);
  });
});
