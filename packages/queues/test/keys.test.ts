import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { Discard, Queue } from '@mortise/queues';
import type { TaskContext } from '@mortise/queues';
import { QueueKeys } from '../src/keys.js';
import { freshPrefix } from '@mortise/test-kit';
import { launch } from './fixture/launch.js';
import { redis } from './fixture/new-queue.js';
import { counted, until } from './fixture/until.js';

/** Keys that every queue may have; the others are for optional features. */
const CORE = 12;

interface Row {
  readonly part: string;
  readonly type: string;
}

function table(file: string): Row[] {
  const text = readFileSync(join(import.meta.dirname, '..', file), 'utf8');
  return [...text.matchAll(/^(?: \* )?\| `([\w:<>]+)` *\| ([A-Z]+) *\|/gm)].map(([, part, type]) => ({
    part: part!,
    type: type!.toLowerCase(),
  }));
}

test('the tables of keys.ts have every key', () => {
  expect(table('src/keys.ts')).toHaveLength(39);
});

test('all keys are in the table, with its types, caps and expiries', async () => {
  const prefix = freshPrefix();
  const queue = new Queue(redis, '}x', { prefix });
  const handlers = {
    ok: () => 'result',
    fail: () => {
      throw new Error('again');
    },
    die: () => {
      throw new Discard('no');
    },
    wait: (_: unknown, { signal }: { signal: AbortSignal }) =>
      new Promise((resolve) => signal.addEventListener('abort', resolve)),
  };
  const options = { prefix, concurrency: 10, keepSucceeded: 5, keepDead: 4, backoff: { delayMs: 60_000 } };
  const worker = await launch(redis, '}x', handlers, options);
  const idle = await launch(redis, '}x', handlers, options);
  for (const priority of ['high', 'medium', 'low']) {
    await queue.enqueueMany(
      ['ok', 'ok', 'ok', 'die', 'die', 'fail'].map((name) => ({ name, payload: 1, options: { priority } })),
    );
    await queue.enqueue('ok', 1, { priority, delayMs: 60_000 });
  }
  await counted(queue, { retrying: 3 });
  await queue.enqueue('wait', 1);
  await counted(queue, { active: 1 });
  const counts = { scheduled: 3, ready: 0, active: 1, retrying: 3, succeeded: 5, dead: 4 };
  expect(await queue.counts()).toMatchObject(counts);

  const rows = new Map(table('src/keys.ts').map(({ part, type }) => [part, type]));
  const stem = `${prefix}:queues:{%7Dx}:`;
  const keys = await redis.keys(`${prefix}:queues:{%7Dx}*`);
  const parts = keys.map((key) => key.slice(stem.length).replace(/:\d+$/, ':<priority>'));
  for (const [index, key] of keys.entries()) {
    expect(key.startsWith(stem)).toBe(true);
    expect(await redis.type(key)).toBe(rows.get(parts[index]!));
    const lastsMs = { idle: 60_000, timekeeper: 60_000, handlers: 150_000 }[parts[index]!];
    const left = await redis.pttl(key);
    expect(lastsMs ? left > lastsMs - 10_000 && left <= lastsMs : left === -1).toBe(true);
  }
  // No task is ready, and every other kind of key is there.
  expect(new Set(parts)).toEqual(
    new Set([...rows.keys()].slice(0, CORE).filter((part) => part !== 'ready:<priority>')),
  );
  const all = new QueueKeys('}x', prefix);
  const stored = Object.values(counts).reduce((a, b) => a + b);
  expect(await redis.hlen(all.of.tasks)).toBe(stored);
  // Tasks that were never fetched have no attempt.
  expect(await redis.hlen(all.of.attempts)).toBe(stored - counts.scheduled);

  await Promise.all([worker, idle].map((one) => one.stop({ graceMs: 0 })));
  expect(await redis.exists(all.of.idle, all.of.timekeeper, all.of.active)).toBe(0);
});

test('optional features have the keys of the table too', async () => {
  const prefix = freshPrefix();
  const queue = new Queue(redis, '}x', { prefix });
  const rows = new Map(table('src/keys.ts').map(({ part, type }) => [part, type]));
  const stem = `${prefix}:queues:{%7Dx}:`;
  const seen = new Set<string>();
  const look = async (): Promise<void> => {
    for (const key of await redis.keys(`${stem}*`)) {
      const part = key.slice(stem.length).replace(/:\d+$/, ':<priority>');
      expect([part, await redis.type(key)]).toEqual([part, rows.get(part)]);
      seen.add(part);
    }
  };
  await queue.configure({
    rate: { limit: 1, periodMs: 3_600_000 },
    groups: { rate: { limit: 1, periodMs: 3_600_000 } },
    keepEvents: 100,
  });
  await queue.pause();
  // Near the ends of a list an entry is taken out; in the middle it becomes a hole.
  const middle = Array.from({ length: 301 }, (_, n) => ({ name: 't', payload: n, options: { id: `t${n}` } }));
  await queue.enqueueMany(middle);
  await queue.cancel('t150');
  await queue.enqueue('t', 1, { id: 'remembered', dedupMs: 60_000 });
  await queue.enqueue('t', 1, { dedupKey: 'k' });
  await queue.enqueue('t', 1, { group: 'g', priority: 'high' });
  await queue.enqueue('t', 1, { group: 'g', priority: 'high' });
  await queue.enqueueFlow({ name: 't', payload: 1, children: [{ name: 't', payload: 2 }] });
  await queue.schedule('daily', { everyMs: 3_600_000 }, 't', 1);
  const abort = new AbortController();
  const result = queue.result('remembered', { signal: abort.signal }).catch((error: unknown) => error);
  await until(async () => (await redis.exists(`${stem}awaited`)) === 1);
  await look();
  const handler = async (_: unknown, ctx: TaskContext): Promise<void> => {
    await ctx.progress(50);
    await ctx.step('first', () => 1);
    await ctx.log('half way');
  };
  await launch(redis, '}x', { t: handler }, { prefix, concurrency: 2 });
  await queue.resume();
  await counted(queue, { succeeded: 1 });
  await look();
  abort.abort(new Error('enough'));
  expect(await result).toMatchObject({ message: 'enough' });
  const ofLayer = /^(?:layer|children):/;
  const missing = [...rows.keys()].slice(CORE).filter((part) => !seen.has(part) && !ofLayer.test(part));
  // Notes are delivered at once.
  expect(missing.filter((part) => part !== 'outbox')).toEqual([]);
});
