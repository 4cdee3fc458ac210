/** `reshard`, while producers and workers run. */
import { describe, expect, test } from '@jest/globals';
import { Claims, Queue } from '@mortise/queues';
import type { QueueEvent } from '@mortise/queues';
import { gate } from '@mortise/test-kit';
import { QueueKeys } from '../../src/keys.js';
import { parseSettings } from '../../src/shard/settings-text.js';
import type { Tasks } from '../fixture/launch.js';
import { newQueue, redis } from '../fixture/new-queue.js';
import { counted, until } from '../fixture/until.js';

const range = (count: number): number[] => Array.from({ length: count }, (_, n) => n);

const withIds = (ids: readonly string[]) =>
  ids.map((id) => ({ name: 't', payload: id, options: { id } }) as const);

/** Tasks in each of the first shards. */
function sizes(prefix: string, shards: number): Promise<number[]> {
  return Promise.all(range(shards).map((shard) => redis.hlen(new QueueKeys('q', prefix, shard).of.tasks)));
}

describe('more shards', () => {
  test('get new tasks of producers that run, also of those that name the number of before', async () => {
    const { queue, prefix, work } = newQueue({ shards: 2 });
    const other = new Queue<Tasks>(redis, 'q', { prefix, shards: 2 });
    await other.enqueueMany(range(8).map((n) => ({ name: 't', payload: n })));
    expect(await queue.reshard(6)).toBe(true);
    expect(await queue.settings()).toMatchObject({ shards: 6, servedShards: 6, earlierShards: [2] });
    for (const n of range(24)) await other.enqueue('t', n);
    expect((await sizes(prefix, 6)).every((size) => size > 0)).toBe(true);
    expect(await other.counts()).toMatchObject({ ready: 32 });
    const late = new Queue<Tasks>(redis, 'q', { prefix, shards: 2 });
    await late.enqueue('t', 0);
    const run: unknown[] = [];
    await work({ t: (payload: unknown) => void run.push(payload) });
    await counted(queue, { succeeded: 33 });
    expect(run.length).toBe(33);
  });

  test('are served by workers and claims that run, idle ones too', async () => {
    const { queue, prefix, work } = newQueue();
    const run: unknown[] = [];
    await work({ t: (payload: unknown) => void run.push(payload) });
    await queue.enqueue('t', 'first');
    await counted(queue, { succeeded: 1 });
    await queue.reshard(8);
    await queue.enqueueMany(withIds(range(40).map(String)));
    await counted(queue, { succeeded: 41 });
    expect((await sizes(prefix, 8)).filter((size) => size > 0).length).toBeGreaterThan(4);

    const { queue: claimed, prefix: theirs } = newQueue();
    const claims = new Claims(redis, 'q', { prefix: theirs });
    expect(await claims.claim()).toEqual([]);
    const waiting = claims.claim({ waitMs: 30_000 });
    await claimed.reshard(4);
    await claimed.enqueueMany(withIds(range(20).map(String)));
    const seen = new Set((await waiting).map(({ id }) => id));
    for (;;) {
      const tasks = await claims.claim({ limit: 5 });
      if (tasks.length === 0) break;
      for (const { id } of tasks) seen.add(id);
    }
    expect(seen.size).toBe(20);
    await claims.stop();
  });

  test('an id is stored once, though its task lies by an earlier number', async () => {
    const { queue, prefix } = newQueue({ shards: 3 });
    await queue.counts();
    const other = new Queue<Tasks>(redis, 'q', { prefix });
    const ids = range(30).map((n) => `id ${n}`);
    await other.enqueueMany(withIds(ids));
    await queue.reshard(7);
    await queue.reshard(5);
    for (const producer of [other, queue]) {
      const again = await producer.enqueueMany(withIds(ids));
      expect(again.map(({ isDuplicate }) => isDuplicate)).toEqual(ids.map(() => true));
    }
    await expect(other.enqueue('t', 'other', { id: 'id 3' })).rejects.toMatchObject({
      code: 'ERR_TASK_CONFLICT',
    });
    const found = await Promise.all(ids.map((id) => other.get(id)));
    expect(found.map((task) => task?.id)).toEqual(ids);
    expect(await queue.counts()).toMatchObject({ ready: 30 });
    await other.enqueue('t', 1, { id: 'kept', dedupMs: 60_000 });
    await queue.remove('id 0');
    expect(await other.enqueue('t', 'id 0', { id: 'id 0' })).toMatchObject({ isDuplicate: false });
  });

  test('concurrent producers store each id once while the number changes', async () => {
    const { queue, prefix } = newQueue({ shards: 2 });
    await queue.counts();
    const producers = range(4).map(() => new Queue<Tasks>(redis, 'q', { prefix }));
    const ids = range(400).map((n) => `id ${n}`);
    const stored = new Map<string, number>();
    const produce = async (producer: Queue<Tasks>): Promise<void> => {
      for (const id of ids) {
        const { isDuplicate } = await producer.enqueue('t', id, { id });
        if (!isDuplicate) stored.set(id, (stored.get(id) ?? 0) + 1);
      }
    };
    const all = Promise.all(producers.map(produce));
    for (const shards of [5, 3, 8]) {
      const before = stored.size;
      await until(() => stored.size > Math.min(before + 40, 300));
      await queue.reshard(shards);
    }
    await all;
    expect([...stored.values()]).toEqual(ids.map(() => 1));
    expect(await queue.counts()).toMatchObject({ ready: ids.length });
  });

  test('a dedupKey finds its task by an earlier number', async () => {
    const { queue, prefix } = newQueue({ shards: 2 });
    await queue.counts();
    const other = new Queue<Tasks>(redis, 'q', { prefix });
    const keys = range(12).map((n) => `key ${n}`);
    const put = (producer: Queue<Tasks>, payload: number) =>
      Promise.all(
        keys.map((dedupKey) => producer.enqueue('t', payload, { dedupKey, onDuplicate: 'replace' })),
      );
    const first = await put(other, 1);
    await queue.reshard(7);
    const second = await put(other, 2);
    expect(second.map(({ id }) => id)).toEqual(first.map(({ id }) => id));
    expect((await queue.get(first[0]!.id))?.payload).toBe(2);
    expect(await other.setPayload(first[1]!.id, 3)).toBe(true);
    expect(await queue.counts()).toMatchObject({ ready: keys.length });
  });

  test('an ordered group stays in its shard until its tasks have ended, and never overlaps', async () => {
    const { queue, prefix, work } = newQueue({ shards: 2 });
    await queue.configure({ groups: { ordered: true } });
    const other = new Queue<Tasks>(redis, 'q', { prefix });
    const groups = range(8).map((n) => `g${n}`);
    const add = (n: number) =>
      Promise.all(groups.map((group) => other.enqueue('t', { group, n }, { group })));
    await add(0);
    await add(1);
    await queue.reshard(7);
    await add(2);
    const [running, order] = [new Set<string>(), new Map<string, unknown[]>()];
    let overlaps = 0;
    const opened = gate();
    await work(
      {
        async t(payload: unknown) {
          const { group, n } = payload as { group: string; n: number };
          if (running.has(group)) overlaps += 1;
          running.add(group);
          order.set(group, [...(order.get(group) ?? []), n]);
          if (n === 0) await opened.passed;
          await Promise.resolve();
          running.delete(group);
        },
      },
      { concurrency: 50 },
    );
    await until(() => running.size === groups.length);
    await add(3);
    opened.open();
    await counted(queue, { succeeded: 32 });
    for (let n = 4; n < 8; n += 1) await add(n);
    await counted(queue, { succeeded: 64 });
    expect(overlaps).toBe(0);
    expect([...order.values()]).toEqual(groups.map(() => range(8)));
    // Groups without tasks have moved.
    expect((await sizes(prefix, 7)).slice(2).some((size) => size > 0)).toBe(true);
  });

  test('a flow whose parent lies by an earlier number ends', async () => {
    const { queue, prefix, work } = newQueue({ shards: 2 });
    await queue.counts();
    const other = new Queue<Tasks>(redis, 'q', { prefix });
    const roots = await Promise.all(
      range(6).map((n) =>
        other.enqueueFlow({
          name: 't',
          payload: `root ${n}`,
          options: { id: `root ${n}` },
          children: range(3).map((child) => ({ name: 't', payload: `child ${child}` })),
        }),
      ),
    );
    await queue.reshard(5);
    await work({ t: () => undefined });
    await counted(queue, { succeeded: 24 });
    expect(await Promise.all(roots.map(async ({ id }) => (await queue.get(id))?.state))).toEqual(
      roots.map(() => 'succeeded'),
    );
  });

  test('events of them reach a reader that runs, and its cursor stays valid', async () => {
    const { queue, prefix } = newQueue({ shards: 2 });
    await queue.counts();
    const other = new Queue<Tasks>(redis, 'q', { prefix });
    const before = await other.eventsCursor();
    const seen: QueueEvent[] = [];
    const ends = new AbortController();
    const reading = (async () => {
      for await (const event of other.events({ signal: ends.signal })) seen.push(event);
    })();
    await queue.enqueue('t', 0, { id: 'early' });
    await until(() => seen.length > 0);
    await queue.reshard(6);
    const ids = range(20).map((n) => `id ${n}`);
    await queue.enqueueMany(withIds(ids));
    await until(() => seen.filter(({ type }) => type === 'enqueued').length === 21);
    ends.abort();
    await reading;
    const again = new Set<string>();
    for await (const event of other.events({ after: before })) {
      if ('id' in event) again.add(event.id);
      if (again.size === 21) break;
    }
    expect(again).toEqual(new Set(['early', ...ids]));
  });

  test('have the limits and the pause of the queue', async () => {
    const { queue, prefix } = newQueue({ shards: 2 });
    await queue.counts();
    const other = new Queue<Tasks>(redis, 'q', { prefix });
    await other.configure({ concurrency: 12, rate: { limit: 100, periodMs: 1_000 } });
    await queue.pause();
    await queue.reshard(6);
    const stored = async () =>
      Promise.all(
        range(6).map(async (shard) =>
          parseSettings((await redis.get(new QueueKeys('q', prefix, shard).of.settings))!),
        ),
      );
    for (const settings of await stored()) {
      expect(settings).toMatchObject({ isPaused: true, concurrency: 12, rate: { limit: 100 }, shards: 6 });
    }
    // This process knows two shards.
    await other.resume();
    for (const settings of await stored()) expect(settings.isPaused).toBe(false);
  });
});

describe('fewer shards', () => {
  test('get all new tasks, and the others are served until they are empty', async () => {
    const { queue, prefix, work } = newQueue({ shards: 6 });
    await queue.counts();
    const other = new Queue<Tasks>(redis, 'q', { prefix });
    await other.enqueueMany(range(60).map((n) => ({ name: 't', payload: n })));
    await other.enqueueMany(withIds(range(12).map((n) => `id ${n}`)));
    await queue.reshard(2);
    const before = await sizes(prefix, 6);
    await other.enqueueMany(withIds(range(24).map((n) => `id ${n}`)));
    await other.enqueue('t', 1);
    const after = await sizes(prefix, 6);
    expect(after.slice(2)).toEqual(before.slice(2));
    const run: unknown[] = [];
    await work({ t: (payload: unknown) => void run.push(payload) });
    await counted(queue, { succeeded: 85 });
    expect(run.length).toBe(85);
    expect(await queue.obliterate({ force: true })).toBe(true);
  });
});

test('the number of now changes nothing; a second call completes a first one that died', async () => {
  const { queue, prefix } = newQueue({ shards: 2 });
  await queue.enqueue('t', 1);
  expect(await queue.reshard(2)).toBe(false);
  await queue.reshard(4);
  const { settings } = new QueueKeys('q', prefix, 1).of;
  await redis.set(settings, 'high,medium,low;shards=2');
  const other = new Queue<Tasks>(redis, 'q', { prefix });
  expect(await other.reshard(4)).toBe(false);
  expect(await redis.get(settings)).toBe('high,medium,low;shards=4;was=2;turn=1');
});

test('a failover that lost the number in shard 0 is repaired', async () => {
  const { queue, prefix } = newQueue({ shards: 2 });
  await queue.reshard(4);
  await redis.set(new QueueKeys('q', prefix).of.settings, 'high,medium,low;shards=2');
  const other = new Queue<Tasks>(redis, 'q', { prefix });
  await other.enqueueMany(withIds(range(20).map(String)));
  expect(await other.settings()).toMatchObject({ shards: 4, reshardings: 1 });
  expect(await other.counts()).toMatchObject({ ready: 20 });
});

test.each([
  [0, 'shards must be a whole number from 1 to 64'],
  [65, 'shards must be a whole number from 1 to 64'],
  [8, 'concurrency must be at least the number of shards, 8, got 5'],
])('%d shards are refused', async (shards, message) => {
  const { queue } = newQueue({ shards: 2 });
  await queue.configure({ concurrency: 5 });
  await expect(queue.reshard(shards)).rejects.toThrow(message);
  expect((await queue.settings()).shards).toBe(2);
});

test('a fifth number is refused, an earlier one is not', async () => {
  const { queue } = newQueue();
  for (const shards of [2, 3, 4]) await queue.reshard(shards);
  await expect(queue.reshard(5)).rejects.toThrow('shards must be one of the numbers so far');
  expect(await queue.reshard(2)).toBe(true);
  expect(await queue.settings()).toMatchObject({ shards: 2, servedShards: 4, earlierShards: [1, 3, 4] });
});
