import { describe, expect, test } from '@jest/globals';
import { Queue, TASK_STATES, Worker } from '@mortise/queues';
import type { ListOptions, Page, Task, TaskState } from '@mortise/queues';
import { freshPrefix } from '@mortise/test-kit';
import { Bench, HOSTILE_IDS } from '../fixture/bench.js';
import { redis } from '../fixture/new-queue.js';
import { counted, until } from '../fixture/until.js';

interface Walk {
  readonly ids: string[];
  readonly pages: number;
}

/** All pages of a state; `between` happens after each. */
async function walk(
  bench: Bench,
  state: TaskState,
  options: ListOptions = {},
  between: (page: number) => Promise<unknown> = async () => undefined,
): Promise<Walk> {
  const ids: string[] = [];
  let cursor: string | null = null;
  let pages = 0;
  do {
    const page = await bench.queue.list(state, { ...options, cursor });
    expect(page.tasks.length).toBeLessThanOrEqual(options.limit ?? 100);
    for (const task of page.tasks) expect(task.state).toBe(state);
    ids.push(...page.tasks.map(({ id }) => id));
    cursor = page.cursor;
    pages += 1;
    await between(pages);
  } while (cursor !== null);
  return { ids, pages };
}

const range = (count: number, of = 'n'): string[] => Array.from({ length: count }, (_, n) => `${of}${n}`);

async function enqueue(
  bench: Bench,
  ids: readonly string[],
  options: object = {},
  name = 'ok',
): Promise<void> {
  await bench.queue.enqueueMany(ids.map((id) => ({ name, payload: id, options: { id, ...options } })));
}

describe('list', () => {
  test('every state, and each task as get shows it', async () => {
    const bench = new Bench();
    await bench.work();
    for (const state of TASK_STATES) {
      if (state === 'waiting' || state === 'ready') continue;
      const ids = [await bench.task(state), await bench.task(state)];
      const { tasks, cursor } = await bench.queue.list(state);
      expect(cursor).toBeNull();
      expect(tasks.map(({ id }) => id).toSorted()).toEqual(ids.toSorted());
      for (const task of tasks) expect(task).toEqual(await bench.queue.get(task.id));
    }
    for (const state of ['ready', 'waiting'] as const) {
      expect(await bench.queue.list(state)).toEqual({ tasks: [], cursor: null });
    }
  });

  test('ready tasks in the order of workers, for any size of a page', async () => {
    const bench = new Bench();
    await enqueue(bench, range(2, 'due'), { delayMs: 1, priority: 'low' });
    await enqueue(bench, range(30, 'low'), { priority: 'low' });
    await enqueue(bench, range(30, 'high'), { priority: 'high' });
    await enqueue(bench, range(3, 'b'), { group: 'b' });
    await enqueue(bench, range(3, 'a'), { group: 'a' });
    await counted(bench.queue, { scheduled: 0 });
    const order = [
      ...range(30, 'high'),
      ...range(2, 'due'),
      ...range(30, 'low'),
      ...range(3, 'a'),
      ...range(3, 'b'),
    ];
    for (const limit of [1, 2, 7, 30, 68, 1_000]) {
      const { ids, pages } = await walk(bench, 'ready', { limit });
      expect(ids).toEqual(order);
      expect(pages).toBe(Math.ceil(68 / limit));
    }
  });

  test.each(['succeeded', 'dead', 'cancelled'] as const)('%s tasks, the latest first', async (state) => {
    const bench = new Bench();
    await bench.work();
    const ids: string[] = [];
    for (let n = 0; n < 30; n += 1) ids.unshift(await bench.task(state));
    for (const limit of [1, 4, 30, 100]) {
      const { ids: listed } = await walk(bench, state, { limit });
      const finished = await Promise.all(listed.map(async (id) => (await bench.queue.get(id))!.finishedAt!));
      expect(finished).toEqual(finished.toSorted((a, b) => b - a));
      expect(listed.toSorted()).toEqual(ids.toSorted());
    }
  });

  test('scheduled tasks by due instant, also many of the same', async () => {
    const bench = new Bench();
    const runAt = Date.now() + 3_600_000;
    await enqueue(bench, range(300), { runAt });
    await enqueue(bench, ['later'], { runAt: runAt + 1 });
    await enqueue(bench, ['sooner'], { runAt: runAt - 1 });
    await enqueue(bench, HOSTILE_IDS, { runAt });
    const { ids } = await walk(bench, 'scheduled', { limit: 9 });
    expect(ids[0]).toBe('sooner');
    expect(ids.at(-1)).toBe('later');
    expect(ids.toSorted()).toEqual([...range(300), 'later', 'sooner', ...HOSTILE_IDS].toSorted());
  });

  test('parents that wait for their children', async () => {
    const bench = new Bench();
    const child = { name: 'ok', payload: 0 };
    // Few, which Redis keeps in a plain list, and many.
    for (const [from, upTo] of [
      [0, 30],
      [30, 250],
    ] as const) {
      await Promise.all(
        Array.from({ length: upTo - from }, (_, index) => {
          const n = from + index;
          const children = n % 50 === 0 ? [child, child] : [child];
          return bench.queue.enqueueFlow({
            name: n < 20 ? 'few' : 'ok',
            payload: n,
            options: { id: `n${n}` },
            children,
          });
        }),
      );
      for (const limit of [1, 7, 1_000]) {
        const { ids } = await walk(bench, 'waiting', { limit });
        expect(new Set(ids)).toEqual(new Set(range(upTo)));
        expect(ids.length).toBe(upTo);
      }
    }
    const { ids } = await walk(bench, 'waiting', { name: 'few' });
    expect(new Set(ids)).toEqual(new Set(range(20)));
    expect(await bench.queue.counts()).toMatchObject({ waiting: 250 });
    const { tasks } = await bench.queue.list('waiting', { limit: 1 });
    expect(tasks[0]).toEqual(await bench.queue.get(tasks[0]!.id));
    expect(await bench.queue.promote('n0')).toBe(false);
    expect(await bench.queue.retry('n0')).toBe(false);
    expect(await bench.queue.drain({ scheduled: true })).toBeGreaterThanOrEqual(250);
    expect(await bench.queue.counts()).toMatchObject({ waiting: 250, ready: 0 });
  });

  test('by name, looking at a bounded number of tasks a call', async () => {
    const bench = new Bench();
    await enqueue(bench, range(2_500, 'o'));
    await enqueue(bench, ['rare 1'], {}, 'rare');
    await enqueue(bench, range(1_000, 'p'));
    await enqueue(bench, ['rare 2'], {}, 'rare');
    const first = await bench.queue.list('ready', { name: 'rare' });
    expect(first.tasks).toEqual([]);
    expect(first.cursor).not.toBeNull();
    const { ids, pages } = await walk(bench, 'ready', { name: 'rare' });
    expect(ids).toEqual(['rare 1', 'rare 2']);
    expect(pages).toBe(4);
    expect(await walk(bench, 'ready', { name: '}x' })).toEqual({ ids: [], pages: 4 });
  });

  test('without payloads and results', async () => {
    const bench = new Bench();
    await bench.work();
    const options = { group: 'g', headers: { trace: 'x' }, dedupMs: 10_000 };
    const id = await bench.task('succeeded', 'a', options);
    const { tasks } = await bench.queue.summaries('succeeded');
    const { payload, result, ...summary } = (await bench.queue.get(id))!;
    expect([payload, result]).toEqual(['a', 'a']);
    expect(tasks).toEqual([summary]);
    // @ts-expect-error -- there is none
    expect(tasks[0]!.payload).toBeUndefined();
  });

  test('a page ends early where payloads are large', async () => {
    const bench = new Bench();
    await bench.queue.enqueueMany(
      Array.from({ length: 120 }, () => ({ name: 'ok', payload: 'x'.repeat(100_000) })),
    );
    const { tasks, cursor } = await bench.queue.list('ready', { limit: 120 });
    expect(tasks.length).toBeLessThan(120);
    expect(cursor).not.toBeNull();
    expect((await walk(bench, 'ready', { limit: 120 })).ids).toHaveLength(120);
  });

  test('all shards, with cursors of another instance', async () => {
    const bench = new Bench({ shards: 4 });
    await enqueue(bench, range(50));
    expect((await walk(bench, 'ready', { limit: 7 })).ids.toSorted()).toEqual(range(50).toSorted());
    const { cursor } = await bench.queue.list('ready', { limit: 20 });
    const other = new Queue(redis, 'q', { prefix: bench.prefix });
    const rest = await other.list('ready', { cursor });
    expect(rest.tasks).toHaveLength(30);
    // The same cursor again gives the same page.
    expect(await other.list('ready', { cursor })).toEqual(rest);
  });

  test('refuses states, limits, names and cursors that are none', async () => {
    const { queue } = new Bench();
    await expect(queue.list('done' as never)).rejects.toThrow(RangeError);
    for (const limit of [0, -1, 1_001, 1.5, Number.NaN, Infinity]) {
      await expect(queue.list('ready', { limit })).rejects.toThrow(RangeError);
    }
    await expect(queue.list('ready', { name: '' })).rejects.toThrow(RangeError);
    const foreign = Buffer.from(JSON.stringify(['dead', 0, 0, '', ''])).toString('base64url');
    const huge = Buffer.from(JSON.stringify(['ready', 0, 2, '9'.repeat(19), ''])).toString('base64url');
    const strange = Buffer.from(JSON.stringify(['ready', 0, -1, '1) or (1', ''])).toString('base64url');
    for (const cursor of ['', 'x', '{}', foreign, huge, strange, 'x'.repeat(100_000)]) {
      await expect(queue.list('ready', { cursor })).rejects.toThrow(RangeError);
    }
    await expect(queue.list('ready', { cursor: 7 as never })).rejects.toThrow(TypeError);
    const beyond = Buffer.from(JSON.stringify(['ready', 63, 999, '7', ''])).toString('base64url');
    expect(await queue.list('ready', { cursor: beyond })).toEqual({ tasks: [], cursor: null });
  });
});

describe('going from page to page while tasks come and go', () => {
  test('ready tasks that stay are shown, each once, while workers take others', async () => {
    const bench = new Bench();
    await enqueue(bench, range(1_000));
    const { ids } = await walk(bench, 'ready', { limit: 100 }, async () => {
      // As a worker does: the first 70 go.
      await redis.lpop(bench.keys.priorityKeys(3)[3]!, 70);
      await enqueue(bench, [`new ${Math.random()}`]);
    });
    expect(new Set(ids).size).toBe(ids.length);
    // The first page was shown before any went, and each later page what had moved up to there.
    expect(ids.slice(0, 1_000)).toEqual(range(1_000));
  });

  test('when everything up to the cursor is gone, and more', async () => {
    const bench = new Bench();
    await enqueue(bench, range(1_000));
    const { ids } = await walk(bench, 'ready', { limit: 100 }, (page) =>
      page === 1 ? redis.lpop(bench.keys.priorityKeys(3)[3]!, 250) : Promise.resolve(),
    );
    expect(ids).toEqual([...range(100), ...range(1_000).slice(250)]);
  });

  test('when the last task of a page is removed, the tasks after it are shown', async () => {
    const bench = new Bench();
    await enqueue(bench, range(300));
    const { ids } = await walk(bench, 'ready', { limit: 100 }, (page) =>
      page === 1 ? bench.queue.remove('n99') : Promise.resolve(),
    );
    expect(new Set(ids)).toEqual(new Set(range(300)));
  });

  test('tombstones are not shown', async () => {
    const bench = new Bench();
    await enqueue(bench, range(1_400));
    const removed = range(1_400).slice(600, 800);
    await Promise.all(removed.map((id) => bench.queue.remove(id)));
    await enqueue(bench, ['n600'], { priority: 'high' });
    await enqueue(bench, ['n601'], { delayMs: 60_000 });
    const { ids } = await walk(bench, 'ready', { limit: 1_000 });
    expect(ids).toEqual(['n600', ...range(1_400).filter((id) => !removed.includes(id))]);
  });

  test.each(['succeeded', 'dead', 'cancelled'] as const)(
    '%s tasks that come meanwhile are not in the way',
    async (state) => {
      const bench = new Bench();
      await bench.work();
      const old = range(150);
      const finish = async (ids: readonly string[]): Promise<void> => {
        const before = (await bench.queue.counts())[state];
        const name = state === 'dead' ? 'die' : 'ok';
        await enqueue(bench, ids, state === 'cancelled' ? { delayMs: 60_000 } : {}, name);
        if (state === 'cancelled') await Promise.all(ids.map((id) => bench.queue.cancel(id)));
        await until(async () => (await bench.queue.counts())[state] === before + ids.length);
      };
      await finish(old);
      let ids60 = '';
      const { ids } = await walk(bench, state, { limit: 20 }, async (page) => {
        await finish(range(30, `new ${page}-`));
        // The oldest go, and one in the middle, where the next page begins.
        if (page === 2) await bench.queue.clean(state, { limit: 10 });
        if (page === 3) await bench.queue.remove(ids60);
        if (page === 2) ids60 = (await bench.queue.list(state, { limit: 1 })).tasks[0]!.id;
      });
      const gone = old.filter((id) => !ids.includes(id));
      expect(gone.length).toBeLessThanOrEqual(10);
      for (const id of gone) expect(await bench.queue.get(id)).toBeNull();
      expect(ids.filter((id) => id.startsWith('new'))).toEqual([]);
      expect(new Set(ids).size).toBe(ids.length);
    },
  );

  test('when the task of the cursor itself is removed', async () => {
    const bench = new Bench();
    await bench.work();
    for (const state of ['succeeded', 'dead', 'cancelled', 'scheduled', 'retrying', 'active'] as const) {
      const all: string[] = [];
      for (let n = 0; n < 9; n += 1) all.push(await bench.task(state));
      const first = await bench.queue.list(state, { limit: 3 });
      const last = first.tasks[2]!.id;
      if (state === 'active') await bench.queue.cancel(last);
      else await bench.queue.remove(last);
      const rest = await bench.queue.list(state, { limit: 100, cursor: first.cursor });
      const shown = [...first.tasks, ...rest.tasks].map(({ id }) => id);
      expect(new Set(shown)).toEqual(new Set(all));
    }
  });
});

describe('tasks with large payloads', () => {
  const COUNT = 12;
  const MIB = 1_048_576;

  test.each<[TaskState, object]>([
    ['ready', {}],
    ['ready', { group: 'g' }],
    ['scheduled', { delayMs: 60_000 }],
    ['cancelled', {}],
  ])('in the state %s, with %j, are listed by 4 MiB, and come once', async (state, options) => {
    const queue = new Queue(redis, 'large', { prefix: freshPrefix(), maxPayloadBytes: 2 * MIB });
    const ids = range(COUNT);
    for (const id of ids) await queue.enqueue('t', 'x'.repeat(MIB), { id, ...options });
    if (state === 'cancelled') for (const id of ids) await queue.cancel(id);
    const [found, sizes] = [[] as string[], [] as number[]];
    let cursor: string | null = null;
    do {
      const page: Page<Task<Record<string, unknown>>> = await queue.list(state, { cursor });
      found.push(...page.tasks.map(({ id }) => id));
      sizes.push(page.tasks.length);
      cursor = page.cursor;
    } while (cursor !== null);
    expect(sizes).toEqual([4, 4, 4]);
    const { tasks, cursor: end } = await queue.summaries(state, { limit: 10 });
    expect([tasks.map(({ id }) => id), end === null]).toEqual([found.slice(0, 10), false]);
    expect(found.toSorted()).toEqual(ids.toSorted());
  });

  test('and results: succeeded ones too', async () => {
    const prefix = freshPrefix();
    const queue = new Queue(redis, 'large', { prefix, maxPayloadBytes: 2 * MIB });
    const worker = new Worker(
      redis,
      ['large'],
      { t: () => 'x'.repeat(MIB) },
      { prefix, maxPayloadBytes: 2 * MIB },
    );
    await queue.enqueueMany(range(COUNT).map((id) => ({ name: 't', payload: 1, options: { id } })));
    await worker.start();
    await queue.idle();
    await worker.stop();
    const first = await queue.list('succeeded');
    const second = await queue.list('succeeded', { cursor: first.cursor });
    expect([first.tasks.length, second.tasks.length]).toEqual([4, 4]);
    expect(new Set([...first.tasks, ...second.tasks].map(({ id }) => id)).size).toBe(8);
  });
});
