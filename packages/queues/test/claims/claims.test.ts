import { afterEach, describe, expect, test } from '@jest/globals';
import { Claims } from '@mortise/queues';
import type { ClaimsOptions, QueueOptions } from '@mortise/queues';
import { freshPrefix } from '@mortise/test-kit';
import { Redis } from 'ioredis';
import { age } from '../fixture/age.js';
import { watched } from '../fixture/commands-of.js';
import { heldRechecks } from '../fixture/paused-timers.js';
import { launch } from '../fixture/launch.js';
import type { NewQueue } from '../fixture/new-queue.js';
import { newQueue, redis } from '../fixture/new-queue.js';
import type { Tasks } from '../fixture/launch.js';
import { counted, until } from '../fixture/until.js';

const HOUR_MS = 3_600_000;
const open = new Set<Claims<Tasks>>();
let errors: unknown[] = [];

afterEach(async () => {
  await Promise.all([...open].map((claims) => claims.stop()));
  open.clear();
  const reports = errors;
  errors = [];
  expect(reports).toEqual([]);
});

function newClaims(prefix: string, options: ClaimsOptions = {}, client = redis): Claims<Tasks> {
  const onError = (error: unknown): void => void errors.push(error);
  const claims = new Claims<Tasks>(client, 'q', { prefix, onError, ...options });
  open.add(claims);
  return claims;
}

function newBench(options: QueueOptions = {}): NewQueue & { readonly claims: Claims<Tasks> } {
  const given = newQueue(options);
  return { ...given, claims: newClaims(given.prefix) };
}

/** A task that was claimed. */
async function newClaimed(options = {}, leaseMs = 10_000) {
  const bench = newBench();
  await bench.queue.enqueue('t', { n: 1 }, { id: 'a', ...options });
  const [task] = await bench.claims.claim({ leaseMs });
  return { ...bench, task: task!, lease: task!.lease };
}

/** The code of an error, or `done`. */
function code(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => 'done',
    (error: unknown) => (error as { code?: string }).code ?? error,
  );
}

describe('claim of some names', () => {
  const of = async ({ queue }: NewQueue, ...names: (keyof Tasks)[]): Promise<void> => {
    for (const name of names)
      await queue.enqueue(name, name, { id: `${name}-${await queue.counts().then(({ ready }) => ready)}` });
  };

  test('claims tasks of these names alone, and leaves the others uncounted', async () => {
    const bench = newBench();
    await of(bench, 'ok', 't', 'ok', 't');
    const { queue, claims } = bench;
    const claimed = await claims.claim({ limit: 4, names: ['t'] });
    expect(claimed.map(({ id }) => id)).toEqual(['t-1', 't-3']);
    await counted(queue, { active: 2 });
    const wanted = { limit: 4, names: ['ok', 'fail'], waitMs: 5_000 };
    const others = [...(await claims.claim(wanted)), ...(await claims.claim({ ...wanted, waitMs: 500 }))];
    expect(others.map(({ id, attempt }) => `${id} ${attempt}`).toSorted()).toEqual(['ok-0 1', 'ok-2 1']);
  });

  test('without a wait, looks at as many tasks as it may claim', async () => {
    const bench = newBench();
    await of(bench, 'ok', 'ok', 't');
    expect(await bench.claims.claim({ limit: 2, names: ['t'] })).toEqual([]);
    expect(await bench.claims.claim({ limit: 2, names: ['t'] })).toMatchObject([{ id: 't-2' }]);
  });

  test('waits for a task of its name behind other tasks, which a claim of their name gets', async () => {
    const bench = newBench();
    const other = newClaims(bench.prefix);
    const [mine, its] = [
      bench.claims.claim({ names: ['t'], waitMs: 10_000 }),
      other.claim({ names: ['ok'], waitMs: 10_000 }),
    ];
    await until(async () => (await redis.zcard(bench.keys.of.idle)) === 2);
    await of(bench, 'ok', 't');
    expect([await mine, await its]).toMatchObject([[{ name: 't' }], [{ name: 'ok' }]]);
  });

  test('claims of one tick get what they take', async () => {
    const bench = newBench();
    await of(bench, 'ok', 't', 'fail');
    const { claims } = bench;
    const all = await Promise.all([
      claims.claim({ names: ['t'] }),
      claims.claim(),
      claims.claim({ names: ['fail', 't'] }),
    ]);
    expect(all.map(([task]) => task?.name)).toEqual(['t', 'ok', 'fail']);
  });

  test('returns a task for a tenth of its age', async () => {
    const { queue, claims, keys } = newBench();
    await queue.enqueue('ok', 1, { id: 'old' });
    await age(redis, keys, 'old', 60_000);
    expect(await claims.claim({ names: ['t'] })).toEqual([]);
    await counted(queue, { retrying: 1 });
    const { runAt } = (await queue.get('old'))!;
    const waitsMs = runAt! - Date.now();
    expect([waitsMs > 1_000, waitsMs < 10_000]).toEqual([true, true]);
  });

  test.each([[[]], [['']], [[1]], ['t'], [Array.from({ length: 101 }, (_, n) => `n${n}`)]])(
    '%j is refused',
    async (names) => {
      const { claims } = newBench();
      expect(await code(claims.claim({ names: names as string[] }))).toBe('ERR_INVALID_ARG');
    },
  );
});

describe('claim', () => {
  test('gives tasks in the order of workers, with their fields', async () => {
    const { queue, claims } = newBench();
    await queue.enqueue('t', 1, { id: 'later', priority: 'low' });
    await queue.enqueue(
      't',
      { a: [null, 'é'] },
      { id: '}x\n', priority: 'high', headers: { h: 'v' }, attempts: 3, timeoutMs: 500 },
    );
    const before = Date.now();
    const tasks = await claims.claim({ limit: 10, leaseMs: 5_000 });
    expect(tasks.map(({ id }) => id)).toEqual(['}x\n', 'later']);
    expect(tasks[0]).toEqual({
      id: '}x\n',
      name: 't',
      payload: { a: [null, 'é'] },
      headers: { h: 'v' },
      attempt: 1,
      attempts: 3,
      timeoutMs: 500,
      enqueuedAt: expect.any(Number),
      leaseUntil: expect.any(Number),
      lease: expect.stringMatching(/^0-[0-9a-f]+$/),
    });
    expect(tasks[0]!.leaseUntil).toBeGreaterThanOrEqual(before + 5_000);
    const task = await queue.get('}x\n');
    expect(task).toMatchObject({ state: 'active', attempt: 1, leaseUntil: tasks[0]!.leaseUntil });
  });

  test('gives nothing at once from an empty queue, and is not registered afterwards', async () => {
    const { claims, keys } = newBench();
    expect(await claims.claim({ limit: 100 })).toEqual([]);
    await until(async () => (await redis.zcard(keys.of.idle)) === 0);
  });

  test('gives at most `max`, and leaves the others', async () => {
    const { queue, claims } = newBench();
    await queue.enqueueMany(Array.from({ length: 5 }, (_, n) => ({ name: 't', payload: n })));
    expect((await claims.claim({ limit: 3 })).map(({ payload }) => payload as unknown)).toEqual([0, 1, 2]);
    expect(await queue.counts()).toMatchObject({ active: 3, ready: 2 });
  });

  test('waits for a task, and is woken for it', async () => {
    const { prefix, queue } = newBench();
    const { client, sent } = await watched();
    const claims = newClaims(prefix, {}, client);
    const claim = claims.claim({ waitMs: 30_000 });
    await until(() => sent.filter(({ what }) => what === 'fetcher.fetch-and-ack').length > 0);
    await queue.enqueue('t', 'x');
    expect((await claim).map(({ payload }) => payload as unknown)).toEqual(['x']);
  });

  test('gives a task that falls due while it waits', async () => {
    const { queue, claims } = newBench();
    await queue.enqueue('t', 1, { id: 'soon', delayMs: 150 });
    expect(await claims.claim({ waitMs: 20_000 })).toMatchObject([{ id: 'soon' }]);
  });

  test('ends with nothing after `waitMs`, and passes on its wake-up', async () => {
    const { claims, keys } = newBench();
    expect(await claims.claim({ waitMs: 50 })).toEqual([]);
    await until(async () => (await redis.zcard(keys.of.idle)) === 0);
    expect(await redis.exists(keys.of.timekeeper)).toBe(0);
  });

  test('several claims wait in a queue, each with its own lease', async () => {
    const { queue, claims } = newBench();
    const order: string[] = [];
    const waits = [20_000, 600_000, 20_000].map(async (leaseMs, index) => {
      const tasks = await claims.claim({ waitMs: 30_000, leaseMs });
      order.push(`${index}: ${tasks[0]!.id}`);
      return tasks[0]!.leaseUntil - Date.now();
    });
    await until(() => claims.waiting === 3);
    for (const id of ['a', 'b', 'c']) {
      await queue.enqueue('t', 1, { id });
      await until(() => order.length > 'abc'.indexOf(id));
    }
    expect(order).toEqual(['0: a', '1: b', '2: c']);
    const [first, second, third] = (await Promise.all(waits)) as [number, number, number];
    expect(second).toBeGreaterThan(500_000);
    expect(Math.max(first, third)).toBeLessThanOrEqual(20_050);
  });

  test('claims of one tick share a call', async () => {
    const { prefix, queue } = newBench();
    await queue.enqueueMany(Array.from({ length: 30 }, (_, n) => ({ name: 't', payload: n })));
    const { client, sent } = await watched();
    const claims = newClaims(prefix, {}, client);
    await claims.claim();
    await until(() => sent.some(({ what }) => what === 'fetcher.fetch-and-ack'));
    sent.length = 0;
    const tasks = await Promise.all(Array.from({ length: 10 }, () => claims.claim({ limit: 2 })));
    expect(tasks.flat().map(({ payload }) => payload as unknown)).toEqual(
      Array.from({ length: 20 }, (_, n) => n + 1),
    );
    await until(() => sent.length > 0);
    const calls = sent.map(({ what }) => what).filter((what) => what !== 'maintainer.maintain');
    expect(calls).toEqual(['fetcher.fetch-and-ack']);
  });

  test('an expired task is dead and is not given', async () => {
    const { queue, claims } = newBench();
    await queue.enqueue('t', 1, { id: 'old', expiresInMs: 1 });
    await queue.enqueue('t', 1, { id: 'new' });
    const { expiresAt } = (await queue.get('old'))!;
    await until(async () => {
      const [seconds, us] = await redis.time();
      return Number(seconds) * 1_000 + Number(us) / 1_000 > expiresAt! + 1;
    });
    expect(await claims.claim({ limit: 10 })).toMatchObject([{ id: 'new' }]);
    await until(async () => (await queue.get('old'))!.state === 'dead');
    expect((await queue.get('old'))!.error!.message).toMatch(/was not started within 1 ms/);
  });

  test('a task that was started in time is given again afterwards', async () => {
    const { keys, queue, claims } = newBench();
    await queue.enqueue('t', 1, { id: 'a', expiresInMs: 3_600_000 });
    const [task] = await claims.claim();
    await claims.fail('a', task!.lease, { error: 'no', delayMs: 0 });
    await age(redis, keys, 'a', 7_200_000);
    expect(await claims.claim({ waitMs: 20_000 })).toMatchObject([{ id: 'a', attempt: 2 }]);
  });

  test('fires the schedules of a queue that has no other workers', async () => {
    const { queue, claims } = newBench();
    await queue.schedule('tick', { everyMs: 1_000 }, 't', 'scheduled');
    expect(await claims.claim({ waitMs: 20_000 })).toMatchObject([{ payload: 'scheduled' }]);
  });

  test('a paused queue gives nothing until it goes on', async () => {
    const { queue, claims } = newBench();
    await queue.enqueue('t', 1, { id: 'a' });
    await queue.pause();
    expect(await claims.claim({ waitMs: 50 })).toEqual([]);
    const claim = claims.claim({ waitMs: 30_000 });
    await until(() => claims.waiting === 1);
    await queue.resume();
    expect(await claim).toMatchObject([{ id: 'a' }]);
  });

  test('takes from all shards, and is woken by each', async () => {
    const { queue, claims } = newBench({ shards: 4 });
    await queue.enqueueMany(
      Array.from({ length: 40 }, (_, n) => ({ name: 't', payload: n, options: { id: `t${n}` } })),
    );
    const seen = new Set<string>();
    for (;;) {
      const tasks = await claims.claim({ limit: 3 });
      if (tasks.length === 0) break;
      for (const { id, lease } of tasks) {
        seen.add(id);
        await claims.complete(id, lease);
      }
    }
    expect(seen.size).toBe(40);
    expect(await queue.counts()).toMatchObject({ succeeded: 40, active: 0, ready: 0 });
    for (const group of ['a', 'b', 'c', 'd', 'e', 'f']) {
      const claim = claims.claim({ waitMs: 30_000 });
      await until(() => claims.waiting === 1);
      await queue.enqueue('t', group, { group });
      const [task] = await claim;
      expect(task).toMatchObject({ payload: group, group });
      await claims.complete(task!.id, task!.lease);
    }
  });

  test.each([
    [{ limit: 0 }, /limit must be a whole number from 1 to 100/],
    [{ limit: 101 }, /limit/],
    [{ limit: 1.5 }, /limit/],
    [{ waitMs: -1 }, /waitMs/],
    [{ waitMs: 30_001 }, /waitMs/],
    [{ waitMs: Number.NaN }, /waitMs/],
    [{ leaseMs: 999 }, /leaseMs/],
    [{ leaseMs: '10000' as unknown as number }, /leaseMs/],
  ])('%p is refused', async (options, message) => {
    await expect(newBench().claims.claim(options)).rejects.toThrow(message);
  });

  test('rejects with the errors of Redis', async () => {
    const client = new Redis({
      port: 1,
      lazyConnect: true,
      enableOfflineQueue: false,
      maxRetriesPerRequest: 0,
    });
    client.on('error', () => undefined);
    const claims = newClaims(freshPrefix(), { onError: () => undefined }, client);
    await expect(claims.claim({ waitMs: 30_000 })).rejects.toMatchObject({ code: 'ERR_REDIS_UNREACHABLE' });
    client.disconnect();
  });
});

describe('an aborted claim', () => {
  test('rejects with the reason of its signal and is not registered', async () => {
    const { claims, keys } = newBench();
    const controller = new AbortController();
    const claim = claims.claim({ waitMs: 30_000, signal: controller.signal });
    await until(async () => (await redis.zcard(keys.of.idle)) === 1);
    controller.abort(new Error('gone'));
    await expect(claim).rejects.toThrow('gone');
    await until(async () => (await redis.zcard(keys.of.idle)) === 0);
    await expect(claims.claim({ signal: controller.signal })).rejects.toThrow('gone');
  });

  test('loses no task: a task on its way is given back', async () => {
    const { queue, claims } = newBench();
    let given = 0;
    for (let round = 0; round < 60; round += 1) {
      const controller = new AbortController();
      const claim = claims.claim({ waitMs: 30_000, leaseMs: HOUR_MS, signal: controller.signal });
      claim.then(
        (tasks) => (given += tasks.length),
        () => undefined,
      );
      const stored = queue.enqueue('t', round);
      // Before, while and after the wake-up makes its way.
      if (round % 3 === 0) await stored;
      for (let turn = 0; turn < round % 7; turn += 1) await new Promise(setImmediate);
      controller.abort(new Error('gone'));
      await stored;
      await claim.catch(() => undefined);
    }
    await until(async () => (await queue.counts()).active === given);
    const { ready, retrying } = await queue.counts();
    expect(ready + retrying).toBe(60 - given);
  });

  describe('at the moment of its wake-up', () => {
    heldRechecks();

    test('swallows no wake-up: a worker beside it runs each task without a recheck', async () => {
      const { prefix, queue, claims } = newBench();
      const runs = new Set<unknown>();
      await launch(redis, 'q', { t: (n) => void runs.add(n) }, { prefix });
      for (let round = 0; round < 60; round += 1) {
        // Ends at about the time at which it would be woken.
        const claim = claims.claim({ waitMs: 1 + (round % 6), leaseMs: HOUR_MS });
        for (let turn = 0; turn < round % 9; turn += 1) await new Promise(setImmediate);
        await queue.enqueue('t', round);
        const tasks = await claim;
        if (tasks.length > 0) {
          for (const { id, lease } of tasks) await claims.complete(id, lease);
          continue;
        }
        await until(() => runs.has(round));
      }
      expect(runs.size).toBeGreaterThan(0);
    });
  });

  test('a task without a completion runs again after its lease', async () => {
    const { claims, task } = await newClaimed({}, 1_000);
    expect(task.attempt).toBe(1);
    const [again] = await claims.claim({ waitMs: 20_000 });
    expect(again).toMatchObject({ id: 'a', attempt: 2 });
    expect(await code(claims.complete('a', task.lease))).toBe('ERR_LEASE_LOST');
    expect(await code(claims.complete('a', again!.lease))).toBe('done');
  });

  test('stop ends all waits with nothing', async () => {
    const { claims, keys } = newBench();
    const waits = [claims.claim({ waitMs: 30_000 }), claims.claim({ waitMs: 30_000, leaseMs: 2_000 })];
    await until(async () => (await redis.zcard(keys.of.idle)) === 1);
    await claims.stop();
    expect(await Promise.all(waits)).toEqual([[], []]);
    expect(await redis.zcard(keys.of.idle)).toBe(0);
  });
});

describe('stop', () => {
  test('a later claim starts again, and waits', async () => {
    const { queue, claims, keys } = newBench();
    await claims.stop();
    await queue.enqueue('t', 1, { id: 'a' });
    const [first] = await claims.claim();
    const stopped = Promise.all([claims.stop(), claims.stop()]);
    const completed = claims.complete('a', first!.lease);
    await stopped;
    await completed;
    expect((await queue.get('a'))!.state).toBe('succeeded');
    const wait = claims.claim({ waitMs: 30_000 });
    await until(async () => (await redis.zcard(keys.of.idle)) === 1);
    await queue.enqueue('t', 1, { id: 'b' });
    expect(await wait).toMatchObject([{ id: 'b' }]);
  });

  test('calls that came before it are answered', async () => {
    const { prefix, queue, lease } = await newClaimed();
    const claims = newClaims(prefix);
    const calls = [
      claims.fail('a', lease, { error: 'no', delayMs: HOUR_MS }),
      claims.claim({ waitMs: 30_000 }),
    ];
    await claims.stop();
    expect(await Promise.all(calls)).toEqual([undefined, []]);
    expect(await queue.get('a')).toMatchObject({ state: 'retrying' });
  });

  test('the end of an await using block stops', async () => {
    const { prefix, keys } = newBench();
    let wait;
    {
      await using claims = newClaims(prefix);
      wait = claims.claim({ waitMs: 30_000 });
      await until(async () => (await redis.zcard(keys.of.idle)) === 1);
    }
    expect(await wait).toEqual([]);
    expect(await redis.zcard(keys.of.idle)).toBe(0);
  });
});

describe('complete', () => {
  test.each([[undefined], [null], [{ done: ['é', 1.5] }], ['text']])(
    'keeps the result %p',
    async (result) => {
      const { queue, claims, lease } = await newClaimed();
      await claims.complete('a', lease, result);
      const task = await queue.get('a');
      expect(task).toMatchObject({ state: 'succeeded', attempt: 1 });
      expect(task!.result).toEqual(result);
    },
  );

  test.each<[unknown, RegExp]>([
    [1n, /result is not JSON/],
    [() => 1, /result must be JSON, got function/],
    ['x'.repeat(262_143), /result must have at most 262144 bytes as JSON, got 262145/],
  ])('refuses %#', async (result, message) => {
    const { queue, claims, lease } = await newClaimed();
    await expect(claims.complete('a', lease, result)).rejects.toThrow(message);
    expect((await queue.get('a'))!.state).toBe('active');
  });

  test('twice at the same time counts once', async () => {
    const { queue, claims, lease, keys } = await newClaimed();
    const outcomes = await Promise.all([1, 2, 3].map((n) => code(claims.complete('a', lease, n))));
    expect(outcomes).toEqual(['done', 'ERR_LEASE_LOST', 'ERR_LEASE_LOST']);
    expect((await queue.get('a'))!.result).toBe(1);
    expect(await redis.llen(keys.of.succeeded)).toBe(1);
  });

  test('works for any instance with the lease', async () => {
    const { prefix, queue, lease } = await newClaimed();
    await newClaims(prefix).complete('a', lease);
    expect((await queue.get('a'))!.state).toBe('succeeded');
  });
});

test('a result has up to `maxPayloadBytes`', async () => {
  const { prefix, queue, lease } = await newClaimed();
  const claims = newClaims(prefix, { maxPayloadBytes: 10 });
  await expect(claims.complete('a', lease, '123456789')).rejects.toThrow(/at most 10 bytes as JSON, got 11/);
  await claims.complete('a', lease, '12345678');
  expect((await queue.get('a'))!.result).toBe('12345678');
});

describe('fail', () => {
  test('the task runs again by its own backoff, or after the delay that is given', async () => {
    const backoff = { type: 'fixed', delayMs: HOUR_MS, jitter: 0 };
    const { queue, claims, task, lease } = await newClaimed({ backoff });
    await claims.fail('a', lease, { error: 'no luck' });
    const failed = await queue.get('a');
    expect(failed).toMatchObject({ state: 'retrying', attempt: 1, error: { message: 'no luck' } });
    expect(failed!.runAt! - task.leaseUntil).toBeGreaterThan(HOUR_MS - 60_000);
    await queue.promote('a');
    const [second] = await claims.claim();
    await claims.fail('a', second!.lease, { error: new Error('again'), delayMs: 0 });
    expect(await claims.claim({ waitMs: 20_000 })).toMatchObject([{ id: 'a', attempt: 3 }]);
  });

  test.each([
    [{ attempts: 1 }, {}],
    [{ attempts: 5 }, { retry: false }],
  ])('the task is dead: %p, %p', async (options, how) => {
    const { queue, claims, lease } = await newClaimed(options);
    await claims.fail('a', lease, { error: 'hopeless', ...how });
    expect(await queue.get('a')).toMatchObject({ state: 'dead', attempt: 1, error: { message: 'hopeless' } });
  });

  test('refuses a wrong delay', async () => {
    const { claims, lease } = await newClaimed();
    await expect(claims.fail('a', lease, { error: '', delayMs: -1 })).rejects.toThrow(/delayMs/);
    await expect(claims.giveBack('a', lease, { delayMs: Number.NaN })).rejects.toThrow(/delayMs/);
  });
});

describe('giveBack', () => {
  test('another claim gets the task at once, and the attempt does not count', async () => {
    const { queue, claims, lease } = await newClaimed();
    await claims.giveBack('a', lease);
    const [task] = await claims.claim();
    expect(task).toMatchObject({ id: 'a', attempt: 1 });
    await claims.giveBack('a', task!.lease, { delayMs: HOUR_MS });
    expect(await queue.get('a')).toMatchObject({ state: 'retrying', attempt: 0 });
  });
});

describe('heartbeat, progress, log', () => {
  test('a heartbeat moves the end of the lease', async () => {
    const { queue, claims, task, lease } = await newClaimed();
    await claims.heartbeat('a', lease, 60_000);
    expect((await queue.get('a'))!.leaseUntil).toBeGreaterThan(task.leaseUntil + 40_000);
    await claims.heartbeat('a', lease, 1_000);
    expect(await claims.claim({ waitMs: 20_000 })).toMatchObject([{ id: 'a', attempt: 2 }]);
  });

  test('progress and lines are kept, several of one tick as well', async () => {
    const { queue, claims, lease } = await newClaimed();
    await Promise.all([
      claims.progress('a', lease, { n: 1 }),
      claims.log('a', lease, 'one\ntwo'),
      claims.progress('a', lease, { n: 2 }),
      claims.log('a', lease, 'three'),
      expect(claims.log('a', '0-1', 'of another attempt')).rejects.toMatchObject({ code: 'ERR_LEASE_LOST' }),
    ]);
    const task = await queue.get('a');
    expect(task!.progress).toEqual({ n: 2 });
    expect(task!.logs!.map(({ text }) => text)).toEqual(['one', 'two', 'three']);
  });
});

describe('a lease', () => {
  /** Everything that needs one. */
  const uses = (claims: Claims<Tasks>, id: string, lease: string) => [
    code(claims.complete(id, lease)),
    code(claims.fail(id, lease, { error: 'x' })),
    code(claims.giveBack(id, lease)),
    code(claims.heartbeat(id, lease)),
    code(claims.progress(id, lease, 1)),
    code(claims.log(id, lease, 'x')),
  ];

  test('an expired lease is refused, and nothing changes', async () => {
    const { queue, claims, lease } = await newClaimed();
    await claims.giveBack('a', lease);
    const [task] = await claims.claim();
    expect(await Promise.all(uses(claims, 'a', lease))).toEqual(
      Array.from({ length: 6 }, () => 'ERR_LEASE_LOST'),
    );
    expect(await queue.get('a')).toMatchObject({ state: 'active', leaseUntil: task!.leaseUntil });
    expect(await Promise.all(uses(claims, 'unknown', lease))).toEqual(
      Array.from({ length: 6 }, () => 'ERR_LEASE_LOST'),
    );
    expect(await Promise.all(uses(claims, 'a', `3f${lease.slice(1)}`))).toEqual(
      Array.from({ length: 6 }, () => 'ERR_LEASE_LOST'),
    );
  });

  test('the lease of a cancelled task is refused with ERR_TASK_CANCELLED', async () => {
    const { queue, claims, lease } = await newClaimed();
    await queue.cancel('a');
    expect(await Promise.all(uses(claims, 'a', lease))).toEqual(
      Array.from({ length: 6 }, () => 'ERR_TASK_CANCELLED'),
    );
  });

  test.each(['', 'x', '0', '0-', '-1', '0-123456789', '0-1\n', '0-G', 'é', undefined, null, 7])(
    '%p is not a lease',
    async (text) => {
      const { claims } = newBench();
      const outcomes = await Promise.all(uses(claims, 'a', text as string));
      expect(outcomes).toEqual(Array.from({ length: 6 }, () => 'ERR_INVALID_ARG'));
      await expect(claims.giveBack('a', text as string)).rejects.toThrow(
        new TypeError('lease must be one that a claim has returned'),
      );
    },
  );
});
