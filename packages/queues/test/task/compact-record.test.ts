import { describe, expect, test } from '@jest/globals';
import { Discard, Queue } from '@mortise/queues';
import type { QueueOptions, TaskState, WorkerOptions } from '@mortise/queues';
import { freshPrefix } from '@mortise/test-kit';
import fc from 'fast-check';
import { decodeRecord, RecordDraft } from '../../src/task/record.js';
import { isCompact } from '../../src/task/compact-record.js';
import { decodeTaskId, encodeTaskId } from '../../src/task/task-id.js';
import { Shard } from '../../src/shard/shard.js';
import type { FetchReply } from '../../src/work/fetch-and-ack.js';
import { fetchAndAck } from '../../src/work/fetch-and-ack.js';
import { maintain } from '../../src/work/maintainer.js';
import { encodeAck, SUCCEEDED } from '../../src/work/completion.js';
import { age, ageEnd } from '../fixture/age.js';
import { launch, stopWorkers } from '../fixture/launch.js';
import { redis } from '../fixture/new-queue.js';
import type { Tasks } from '../fixture/launch.js';
import { reached, until } from '../fixture/until.js';

const DAY_MS = 86_400_000;
const KEEP = { keepSucceeded: 10_000, keepSucceededMs: 30 * DAY_MS, keepDead: 100 };
const STATES: readonly TaskState[] = ['ready', 'active', 'retrying', 'succeeded', 'dead', 'cancelled'];

class Bench {
  readonly prefix = freshPrefix();
  readonly queue: Queue<Tasks>;
  readonly shard = new Shard(redis, 'q', this.prefix);
  readonly keys = this.shard.keys;
  /** Tasks that workers hold. */
  #held: FetchReply['fetched'] = [];

  constructor(options: QueueOptions = {}) {
    this.queue = new Queue<Tasks>(redis, 'q', { prefix: this.prefix, ...options });
  }

  async fetch(want: number, keep: Partial<typeof KEEP> = {}): Promise<void> {
    const acks = this.#held.map((task) => ({
      storedId: task.storedId,
      encoded: encodeAck(task, SUCCEEDED),
    }));
    const member = this.keys.idleMember('w');
    const request = { member, want, leaseMs: 60_000, idleMs: 1_000, recheckMs: 1_000, keepsTime: true, acks };
    ({ fetched: this.#held } = await fetchAndAck(this.shard, { ...KEEP, ...keep }, request));
  }

  /** Each of these succeeds without a result, in a call that fetches the next ones. */
  async succeed(ids: readonly string[], perCall = 1): Promise<void> {
    for (const id of ids) await this.queue.enqueue('t', id, { id });
    await this.queue.enqueue('t', 'last', { id: 'last', delayMs: 0 });
    for (let count = 0; count <= ids.length; count += perCall) await this.fetch(perCall);
    // `last` is held, and never settled.
    this.#held = [];
  }

  async seal(keep: Partial<typeof KEEP> = {}): Promise<void> {
    await this.fetch(0, keep);
    await maintain(this.shard, { ...KEEP, ...keep }, true);
  }

  async isCompact(id: string): Promise<boolean> {
    const [record, last] = await Promise.all([
      redis.hgetBuffer(this.keys.of.tasks, encodeTaskId(id)),
      redis.hgetBuffer(this.keys.of.attempts, encodeTaskId(id)),
    ]);
    expect(isCompact(record!)).toBe(last === null);
    return isCompact(record!);
  }

  async sealed(ids: readonly string[]): Promise<string[]> {
    const are = await Promise.all(ids.map((id) => this.isCompact(id)));
    return ids.filter((_, index) => are[index]);
  }

  /** All that can be seen of the queue. */
  async view(ids: readonly string[]): Promise<unknown> {
    const { queue } = this;
    const lists = STATES.map(async (state) => {
      const pages: unknown[] = [];
      let cursor: string | null = null;
      do {
        const page: Awaited<ReturnType<typeof queue.list>> = await queue.list(state, { cursor, limit: 3 });
        pages.push(page.tasks);
        ({ cursor } = page);
      } while (cursor !== null);
      return pages;
    });
    return {
      counts: await queue.counts(),
      tasks: await Promise.all(ids.map((id) => queue.get(id))),
      results: await Promise.allSettled(ids.map((id) => queue.result(id, { waitMs: 0 }))),
      lists: await Promise.all(lists),
    };
  }
}

async function work(bench: Bench, options: Partial<WorkerOptions> = {}): Promise<void> {
  await launch(
    redis,
    'q',
    {
      bare: () => undefined,
      full: () => ({ is: 'kept' }),
      reports: async (_, ctx) => {
        await ctx.progress({ at: 1 });
        await ctx.log('line');
      },
      late: (_, ctx) => {
        if (ctx.attempt < 3) throw new Error('not yet');
      },
      dead: () => {
        throw new Discard('because');
      },
    },
    { prefix: bench.prefix, backoff: { type: 'fixed', delayMs: 1 }, onError: () => undefined, ...options },
  );
  await until(async () => {
    const { ready, active, retrying, scheduled, waiting } = await bench.queue.counts();
    return ready + active + retrying + scheduled + waiting === 0;
  });
  await stopWorkers();
}

test('sealing changes nothing that can be seen', async () => {
  const bench = new Bench({ priorities: ['high', 'low'] });
  const { queue } = bench;
  const big = 'x'.repeat(300);
  const bare = {
    plain: {},
    'ünïcode 🙂': {},
    high: { priority: 'high' },
    grouped: { group: 'g' },
    delayed: { delayMs: 5 },
    headers: { headers: { trace: '1' }, timeoutMs: 50_000, expiresInMs: 100_000 },
    'dedup of a group': { group: 'a group', dedupMs: 60_000 },
    'many attempts': { attempts: 65_535 },
  };
  for (const [id, options] of Object.entries(bare))
    await queue.enqueue('bare', { of: id }, { id, ...options });
  await queue.enqueue('reports', 1, { id: 'reports' });
  await queue.enqueue('late', 1, { id: 'late' });
  await queue.enqueue('full', 1, { id: 'full' });
  await queue.enqueue('bare', big, { id: 'big' });
  await queue.enqueue('dead', 1, { id: 'dead' });
  const flow = await queue.enqueueFlow({
    name: 'bare',
    payload: 1,
    options: { id: 'parent' },
    children: [{ name: 'bare', payload: 1, options: { id: 'child' } }],
  });
  expect(flow.isDuplicate).toBe(false);
  const sealable = [...Object.keys(bare), 'reports', 'late'];
  const ids = [...sealable, 'full', 'big', 'dead', 'parent', 'child', 'nobody'];
  await work(bench);
  await bench.seal();
  expect(await bench.sealed(ids.slice(0, -1))).toEqual(sealable);
  const after = await bench.view(ids);
  // The other form, as it was before: what `get` says is all that there was.
  for (const id of sealable) {
    const { finishedAt, attempt } = (await queue.get(id))!;
    const key = encodeTaskId(id);
    const sealed = (await redis.hgetBuffer(bench.keys.of.tasks, key))!;
    const last = Buffer.alloc(11, 'S');
    last.writeDoubleBE(finishedAt!, 1);
    last.writeUInt16BE(attempt, 9);
    await redis.hset(bench.keys.of.tasks, key, sealed.subarray(5));
    await redis.hset(bench.keys.of.attempts, key, last);
  }
  expect(await bench.sealed(sealable)).toEqual([]);
  const before = await bench.view(ids);
  expect(after).toEqual(before);
  expect(before).toMatchObject({ counts: { succeeded: sealable.length + 4, dead: 1 } });
  // And there again.
  await bench.seal();
  expect(await bench.sealed(sealable)).toEqual(sealable);
  expect(await bench.view(ids)).toEqual(before);
});

test('maintenance compacts where nothing is ready; a worker does so by itself', async () => {
  const bench = new Bench();
  const ids = Array.from({ length: 30 }, (_, index) => `task ${index}`);
  await bench.succeed(ids);
  await maintain(bench.shard, KEEP, false);
  expect(await bench.sealed(ids)).toEqual([]);
  await bench.seal();
  expect(await bench.sealed(ids)).toEqual(ids);
  expect(await redis.hlen(bench.keys.of.attempts)).toBe(1);
  const more = ['a', 'b'];
  await bench.queue.cancel('last');
  for (const id of more) await bench.queue.enqueue('bare', 1, { id });
  await work(bench);
  await until(async () => (await bench.sealed(more)).length === 2);
});

test('a worker with a small retention compacts after the first second without work', async () => {
  const bench = new Bench();
  await launch(redis, 'q', { bare: () => undefined }, { prefix: bench.prefix, keepSucceeded: 100 });
  await bench.queue.enqueue('bare', 1, { id: 'a' });
  expect(await until(async () => (await bench.sealed(['a'])).length === 1)).toBe(true);
});

test('one call seals the latest thousand', async () => {
  const bench = new Bench();
  const ids = Array.from({ length: 1_100 }, (_, index) => `task ${index}`);
  await bench.queue.enqueueMany(ids.map((id) => ({ name: 't', payload: 1, options: { id } })));
  // Calls that take something, up to the last one.
  for (let index = 0; index < 11; index += 1) await bench.fetch(100);
  await bench.seal();
  const order = (await redis.lrangeBuffer(bench.keys.of.succeeded, 0, -1)).map((id) => decodeTaskId(id));
  expect(await bench.sealed(order)).toEqual(order.slice(-1_000));
});

describe('a sealed task', () => {
  async function newBench(ids: readonly string[]): Promise<Bench> {
    const bench = new Bench();
    await bench.succeed(ids);
    await bench.seal();
    expect(await bench.sealed(ids)).toEqual(ids);
    return bench;
  }

  test('has ended: it is neither cancelled, nor retried, nor promoted', async () => {
    const { queue } = await newBench(['a']);
    expect([await queue.cancel('a'), await queue.retry('a'), await queue.promote('a')]).toEqual([
      false,
      false,
      false,
    ]);
    expect(await queue.get('a')).toMatchObject({ state: 'succeeded', attempt: 1 });
  });

  test('is removed, and its id is free again', async () => {
    const { queue, keys } = await newBench(['a', 'b']);
    expect(await queue.remove('a')).toBe(true);
    expect(await redis.llen(keys.of.succeeded)).toBe(1);
    expect(await queue.enqueue('t', 'other', { id: 'a' })).toEqual({ id: 'a', isDuplicate: false });
    expect((await queue.get('a'))?.state).toBe('ready');
  });

  test('keeps its id from others', async () => {
    const { queue, prefix } = await newBench(['a']);
    expect(await queue.enqueue('t', 'a', { id: 'a' })).toEqual({ id: 'a', isDuplicate: true });
    await expect(queue.enqueue('t', 'other', { id: 'a' })).rejects.toMatchObject({
      code: 'ERR_TASK_CONFLICT',
    });
    const child = { name: 't', payload: 1 };
    const root = { name: 't', payload: 'a', options: { id: 'a' }, children: [child] };
    expect(await queue.enqueueFlow({ ...root, children: [] })).toMatchObject({ isDuplicate: true });
    // It has no children.
    for (const other of [root, { ...root, payload: 1 }]) {
      await expect(queue.enqueueFlow(other)).rejects.toMatchObject({ code: 'ERR_TASK_CONFLICT' });
    }
    // The child has no queue of its own: its parent learns that it failed.
    const parents = new Queue<Tasks>(redis, 'parents', { prefix });
    const { id } = await parents.enqueueFlow({
      name: 't',
      payload: 1,
      children: [{ queue: 'q', name: 't', payload: 'a', options: { id: 'a' } }],
    });
    await reached(parents, id, 'dead');
  });

  test('is cleaned by its age, and nothing is left of it', async () => {
    const ids = ['a', 'b', 'c', 'd'];
    const { queue, keys } = await newBench(ids);
    await queue.cancel('last');
    for (const id of ids.slice(0, 3)) await ageEnd(redis, keys, id, 3_600_000);
    expect(await queue.clean('succeeded', { olderThanMs: 1_800_000 })).toBe(3);
    expect((await queue.list('succeeded')).tasks.map(({ id }) => id)).toEqual(['d']);
    expect(await redis.hlen(keys.of.tasks)).toBe(2);
  });

  test('goes when it is too old, or too many have come', async () => {
    const ids = ['a', 'b', 'c', 'd'];
    const bench = await newBench(ids);
    for (const id of ids.slice(0, 2)) await ageEnd(redis, bench.keys, id, 3_600_000);
    await bench.seal({ keepSucceededMs: 1_800_000 });
    expect(await bench.queue.counts()).toMatchObject({ succeeded: 2 });
    await bench.queue.enqueue('t', 1, { id: 'e' });
    await bench.fetch(1);
    await bench.fetch(0, { keepSucceeded: 1 });
    expect((await bench.queue.list('succeeded')).tasks.map(({ id }) => id)).toEqual(['e']);
  });
});

describe("a record that doesn't fit keeps its entry", () => {
  test.each([
    ['older than 49 days at its end', 50 * DAY_MS, false],
    ['younger', 49 * DAY_MS, true],
    ['a minute younger than new, by a clock that was set back', -60_000, true],
    ['a day', -DAY_MS, false],
  ])('%s', async (_, ms, isFit) => {
    const bench = new Bench();
    await bench.succeed(['a']);
    await age(redis, bench.keys, 'a', ms);
    const before = await bench.queue.get('a');
    await bench.seal();
    expect(await bench.isCompact('a')).toBe(isFit);
    expect(await bench.queue.get('a')).toEqual(before);
  });

  test.each([
    [63, true],
    [64, false],
    [65_535, false],
  ])('the attempt %i', async (attempt, isFit) => {
    const bench = new Bench();
    await bench.succeed(['a']);
    const key = encodeTaskId('a');
    const last = (await redis.hgetBuffer(bench.keys.of.attempts, key))!;
    last.writeUInt16BE(attempt, 9);
    await redis.hset(bench.keys.of.attempts, key, last);
    await bench.seal();
    expect(await bench.isCompact('a')).toBe(isFit);
    expect(await bench.queue.get('a')).toMatchObject({ state: 'succeeded', attempt });
  });
});

test('a record on its way to become sealed is never taken for one that is', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1_000_000_000_000, max: 100_000_000_000_000 }), (when) => {
      const record = new RecordDraft(
        { name: 't', payload: 1, attempts: 5, when, extras: undefined },
        100,
      ).encode();
      expect(isCompact(record)).toBe(false);
      expect(decodeRecord(record).enqueuedAt).toBe(when);
    }),
  );
});
