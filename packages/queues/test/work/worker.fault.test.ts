import { once } from 'node:events';
import { describe, expect, test } from '@jest/globals';
import type { Queue, TaskContext, Worker } from '@mortise/queues';
import { gate } from '@mortise/test-kit';
import {
  collector,
  connectTo,
  keys,
  never,
  newProxied,
  newScene,
  prefix,
  queueOn,
  server,
} from '../fixture/faults.js';
import type { ConnectionLimits } from '../fixture/faults.js';
import type { Tasks } from '../fixture/launch.js';
import { heldFarewells, heldRechecks } from '../fixture/paused-timers.js';
import { launch } from '../fixture/launch.js';
import { startProcess } from '../fixture/processes.js';
import { counted, reached, until } from '../fixture/until.js';

describe('a lease that is lost', () => {
  test('aborts the handler, and only the completion of the new holder counts', async () => {
    const { redis, queue, errors, onError, proxy } = await newProxied();
    const reasons: unknown[] = [];
    const door = gate();
    let hasBegun = false;
    const lost = async (_: unknown, { signal }: TaskContext): Promise<string> => {
      signal.addEventListener('abort', () => reasons.push(signal.reason));
      hasBegun = true;
      await door.passed;
      return 'first';
    };
    const options = { prefix, concurrency: 1 };
    await launch(connectTo(proxy), 'q', { t: lost }, { ...options, leaseMs: 1_000, onError });
    const { id } = await queue.enqueue('t', 1, { attempts: 50 });
    // A task that was handed off is active before its attempt has begun, and that has to come through; of one that was asked for,
    // the answer.
    await until(async () => hasBegun && (await queue.get(id))?.attempt === 1);
    const other = gate();
    const attempts: number[] = [];
    await launch(
      redis,
      'q',
      {
        t: async (_, { attempt }) => {
          attempts.push(attempt);
          await other.passed;
          return 'second';
        },
      },
      options,
    );
    proxy.halfOpen();
    await until(() => attempts.length === 1);
    const [attempt = 0] = attempts;
    expect(attempt).toBeGreaterThan(1);
    // Its lease has ended here as well. The other worker runs in the same loop, which may have fetched the task before it looks
    // at its timers. When exactly: worker.clock.test.ts.
    await until(() => reasons.length > 0);
    expect(reasons[0]).toMatchObject({ code: 'ERR_LEASE_LOST', taskId: id });
    // The first handler ends, and its worker is connected again, before the second one has finished.
    door.open();
    await proxy.restore();
    const next = await queue.enqueue('t', 2);
    await reached(queue, next.id, 'succeeded');
    expect(await queue.get(id)).toMatchObject({ state: 'active', attempt });
    other.open();
    expect(await reached(queue, id, 'succeeded')).toMatchObject({ result: 'second' });
    expect(errors).toEqual(reasons);
  });

  test('a server that stands still for longer than the lease: all is done, and slots are whole', async () => {
    const { single, redis, queue, errors, onError } = await newScene();
    const aborted: string[] = [];
    let doors = gate();
    let active = 0;
    let most = 0;
    const t = async (_: unknown, { id, signal }: TaskContext): Promise<void> => {
      active += 1;
      most = Math.max(most, active);
      const isAborted = new Promise<void>((resolve) => {
        signal.addEventListener('abort', () => {
          aborted.push(id);
          resolve();
        });
      });
      await Promise.race([doors.passed, isAborted]);
      active -= 1;
    };
    await launch(redis, 'q', { t }, { prefix, leaseMs: 1_000, concurrency: 5, onError });
    const options = { attempts: 50 };
    await queue.enqueueMany(Array.from({ length: 12 }, (_, payload) => ({ name: 't', payload, options })));
    await until(() => active === 5);
    single.pause();
    await until(() => aborted.length >= 5);
    single.resume();
    doors.open();
    doors = gate();
    await until(() => active === 5);
    doors.open();
    await counted(queue, { succeeded: 12 });
    expect(most).toBe(5);
    expect(errors.every((error) => 'code' in error && error.code === 'ERR_LEASE_LOST')).toBe(true);
  });
});

describe('a connection that loses replies', () => {
  test('nothing is lost, every task runs, and no slot leaks', async () => {
    const { queue, onError, proxy } = await newProxied();
    const run = new Map<number, number>();
    let isGated = false;
    let active = 0;
    const door = gate();
    const t = async (payload: number, { signal }: TaskContext): Promise<void> => {
      run.set(payload, (run.get(payload) ?? 0) + 1);
      active += 1;
      const isAborted = new Promise((resolve) => signal.addEventListener('abort', resolve));
      if (isGated) await Promise.race([door.passed, isAborted]);
      else await new Promise(setImmediate);
      active -= 1;
    };
    const worker = await launch(
      connectTo(proxy),
      'q',
      { t },
      { prefix, leaseMs: 1_000, concurrency: 10, onError },
    );
    const viaProxy = queueOn(connectTo(proxy));
    const accepted: Promise<unknown>[] = [];
    for (let round = 0; round < 5; round += 1) {
      for (let n = 0; n < 40; n += 1) {
        const options = { id: `task ${round * 40 + n}`, attempts: 50 };
        accepted.push((n % 2 ? queue : viaProxy).enqueue('t', round * 40 + n, options));
      }
      const before = run.size;
      await until(() => run.size > before);
      proxy.dropReplies();
      await queue.enqueue('t', -1 - round, { attempts: 50 });
      proxy.cut();
      await proxy.restore();
    }
    await Promise.all(accepted);
    await counted(queue, { succeeded: 205 });
    expect(run.size).toBe(205);
    expect(await queue.counts()).toMatchObject({ ready: 0, active: 0, dead: 0 });

    isGated = true;
    const options = { attempts: 50 };
    await queue.enqueueMany(
      Array.from({ length: 15 }, (_, n) => ({ name: 't', payload: 1_000 + n, options })),
    );
    await until(async () => active === 10 && (await queue.counts()).ready === 5);
    door.open();
    await counted(queue, { succeeded: 220 });
    await worker.stop();
  });

  test('a completion whose reply is lost counts once', async () => {
    const { queue, errors, onError, proxy } = await newProxied();
    const door = gate();
    let runs = 0;
    const t = async (): Promise<string> => {
      runs += 1;
      await door.passed;
      return 'done';
    };
    await launch(connectTo(proxy), 'q', { t }, { prefix, onError });
    const { id } = await queue.enqueue('t', 1);
    await until(() => runs === 1);
    proxy.dropReplies();
    door.open();
    await reached(queue, id, 'succeeded');
    proxy.cut();
    await proxy.restore();
    const next = await queue.enqueue('t', 2);
    await reached(queue, next.id, 'succeeded');
    expect([runs, (await queue.counts()).succeeded]).toEqual([2, 2]);
    expect(errors.filter((error) => !('code' in error && error.code === 'ERR_LEASE_LOST'))).toEqual([]);
  });
});

describe('Redis that goes away', () => {
  test('killed and started again with its append-only file: nothing that was accepted is lost', async () => {
    const single = await server({ appendFsync: 'always' });
    const redis = connectTo(single, { maxRetriesPerRequest: 2 });
    const queue = queueOn(redis);
    const { onError } = collector();
    const run = new Set<number>();
    await launch(
      connectTo(single),
      'q',
      { t: (payload) => void run.add(payload) },
      { prefix, leaseMs: 1_000, concurrency: 5, keepSucceeded: 100_000, onError },
    );
    const accepted: number[] = [];
    const production = { isOver: false };
    const producer = (async () => {
      for (let n = 0; !production.isOver; n += 5) {
        const batch = [n, n + 1, n + 2, n + 3, n + 4];
        const results = await Promise.allSettled(
          batch.map((payload) => queue.enqueue('t', payload, { attempts: 50, delayMs: payload % 3 })),
        );
        results.forEach(({ status }, index) => {
          if (status === 'fulfilled') accepted.push(batch[index]!);
        });
      }
    })();
    for (let round = 0; round < 2; round += 1) {
      const size = run.size;
      await until(() => run.size > size + 100);
      await single.kill();
      await single.restart();
    }
    const size = run.size;
    await until(() => run.size > size + 100);
    production.isOver = true;
    await producer;
    await until(async () => {
      const { scheduled, ready, active, retrying } = await queue.counts();
      return scheduled + ready + active + retrying === 0;
    });
    expect(accepted.filter((n) => !run.has(n))).toEqual([]);
    expect((await queue.counts()).dead).toBe(0);
  });

  test('a worker may start before Redis does, and reports seldom meanwhile', async () => {
    const { queue, errors, onError, proxy } = await newProxied();
    proxy.refuse();
    const run: unknown[] = [];
    let tries = 0;
    const retryStrategy = (): number => {
      tries += 1;
      return 20;
    };
    const away = connectTo(proxy, { enableOfflineQueue: false, retryStrategy });
    await launch(away, 'q', { t: (payload) => void run.push(payload) }, { prefix, onError });
    await queue.enqueue('t', 1);
    await until(() => tries > 20 && errors.length > 0);
    // Calls and a subscription, tried again with a backoff, fail in a few ways; each is reported once.
    expect(errors.length).toBe(new Set(errors.map(String)).size);
    await proxy.restore();
    await until(() => run.length === 1);
    expect(run).toEqual([1]);
  });

  test('stop ends in bounded time, whatever the client does meanwhile', async () => {
    const { queue, errors, onError, proxy } = await newProxied();
    const timeouts: ConnectionLimits[] = [
      { maxRetriesPerRequest: null },
      { maxRetriesPerRequest: 0 },
      { enableOfflineQueue: false },
      { commandTimeout: 2_400 },
    ];
    // The last one gets no reply at all.
    const clients = [...timeouts, timeouts.at(-1)!].map((options) => connectTo(proxy, options));
    await Promise.all(clients.map((client) => once(client, 'ready')));
    const workers: Worker<Tasks>[] = [];
    for (const client of clients.slice(0, -1)) {
      workers.push(await launch(client, 'q', { t: () => never }, { prefix, concurrency: 1, onError }));
      await queue.enqueue('t', 1);
    }
    await counted(queue, { active: 4 });
    proxy.halfOpen();
    const at = performance.now();
    workers.push(await launch(clients.at(-1)!, 'q', { t: () => never }, { prefix, onError }));
    await Promise.all(workers.map((worker) => worker.stop({ graceMs: 100 })));
    // Two seconds after the grace, but for what a busy machine adds.
    expect(performance.now() - at).toBeLessThan(20_000);
    const reports = errors.length;
    // Calls under way fail, or are answered after all: a stopped worker neither goes on nor complains.
    await until(() => performance.now() - at > 2_800);
    await proxy.restore();
    await Promise.all(clients.map((client) => client.ping()));
    expect(errors.slice(reports)).toEqual([]);
  });

  describe('for a short time', () => {
    heldFarewells();

    test('a stop meanwhile gives its tasks back after all', async () => {
      const { queue, onError, proxy } = await newProxied();
      const client = connectTo(proxy, { enableOfflineQueue: false, retryStrategy: () => 20 });
      await once(client, 'ready');
      const worker = await launch(client, 'q', { t: () => never }, { prefix, onError });
      await queue.enqueue('t', 1);
      await counted(queue, { active: 1 });
      proxy.refuse();
      await until(() => client.status !== 'ready');
      const stopped = worker.stop({ graceMs: 0 });
      await until(() => client.status === 'reconnecting');
      await proxy.restore();
      await stopped;
      expect(await queue.counts()).toMatchObject({ active: 0, ready: 1 });
    });
  });

  test('a client that is closed under a running worker: one report, no unhandled rejection', async () => {
    const { single, queue } = await newScene();
    const { child, reports } = startProcess(single.url, 'q', { prefix, leaseMs: 60_000 });
    await queue.enqueue('wait', 60_000);
    await until(() => reports.length === 1);
    const exit = once(child, 'exit');
    child.send('close');
    await until(() => reports.some(({ type }) => type === 'closed'));
    expect(reports.filter(({ type }) => type === 'error')).toEqual([
      expect.objectContaining({ code: 'ERR_CLIENT_CLOSED' }),
    ]);
    // Nothing of the worker keeps the process alive, and nothing has made it fail.
    expect(await exit).toEqual([0, null]);
  });
});

describe('an operator who', () => {
  test('flushes the scripts', async () => {
    const { single, redis, queue } = await newScene();
    const run: unknown[] = [];
    await launch(redis, 'q', { t: (payload) => void run.push(payload) }, { prefix, concurrency: 1 });
    const flushing = connectTo(single);
    for (let n = 0; n < 300; n += 1) {
      await Promise.all([queue.enqueue('t', n), ...(n % 3 ? [] : [flushing.script('FLUSH')])]);
    }
    await until(() => run.length === 300);
    expect(run).toEqual(Array.from({ length: 300 }, (_, n) => n));
    expect((await queue.counts()).succeeded).toBe(300);
  });

  test('flushes everything', async () => {
    const { redis, queue, errors, onError } = await newScene();
    const door = gate();
    const run: unknown[] = [];
    const t = async (payload: unknown): Promise<void> => {
      run.push(payload);
      if (payload === 'running') await door.passed;
    };
    await launch(redis, 'q', { t }, { prefix, concurrency: 2, onError });
    await queue.enqueueMany(
      [...Array<string>(2).fill('running'), ...Array<string>(50).fill('waiting')].map((payload) => ({
        name: 't',
        payload,
      })),
    );
    await until(() => run.length === 2);
    await redis.flushall();
    door.open();
    await until(() => errors.length === 2);
    expect(errors.map((error) => (error as Error & { code: string }).code)).toEqual([
      'ERR_LEASE_LOST',
      'ERR_LEASE_LOST',
    ]);
    await queue.enqueue('t', 'new');
    await until(() => run.length === 3);
    expect(run).toEqual(['running', 'running', 'new']);
    await counted(queue, { succeeded: 1 });
  });

  test('has no memory left: enqueues are refused, and what is there is done', async () => {
    const { redis, queue } = await newScene();
    await queue.enqueueMany(Array.from({ length: 200 }, (_, payload) => ({ name: 't', payload })));
    await redis.config('SET', 'maxmemory', '1');
    await expect(queue.enqueue('t', 'refused', { id: 'refused' })).rejects.toMatchObject({
      code: 'ERR_MEMORY_FULL',
      cause: { message: expect.stringMatching(/^OOM/) },
    });
    expect(await queue.get('refused')).toBeNull();
    const run: unknown[] = [];
    let fails = 3;
    const t = (payload: unknown): unknown => {
      if (payload === 7 && fails > 0) {
        fails -= 1;
        throw new Error('again');
      }
      run.push(payload);
      return payload;
    };
    await launch(redis, 'q', { t }, { prefix, backoff: { type: 'fixed', delayMs: 1 } });
    await counted(queue, { succeeded: 200 });
    expect(run).toHaveLength(200);
    await redis.config('SET', 'maxmemory', '0');
    await queue.enqueue('t', 'refused', { id: 'refused' });
    await reached(queue, 'refused', 'succeeded');
  });

  test('has no memory left: each call that stores tasks says so, also the first one of a process', async () => {
    const { single, redis } = await newScene();
    await redis.config('SET', 'maxmemory', '1');
    const flow = { name: 't', payload: 1, children: [{ name: 't', payload: 1 }] };
    // Each on a client that has not had to do with the queue.
    const calls = [
      (queue: Queue<Tasks>) => queue.enqueue('t', 1),
      (queue: Queue<Tasks>) => queue.enqueueMany([{ name: 't', payload: 1 }]),
      (queue: Queue<Tasks>) => queue.enqueueFlow(flow),
      (queue: Queue<Tasks>) => queue.schedule('daily', { cron: '0 9 * * *' }, 't', 1),
    ];
    for (const call of calls) {
      await expect(call(queueOn(connectTo(single)))).rejects.toMatchObject({ code: 'ERR_MEMORY_FULL' });
    }
    await redis.config('SET', 'maxmemory', '0');
    for (const call of calls) await call(queueOn(redis));
    await redis.config('SET', 'maxmemory', '1');
    for (const call of calls) {
      const known = queueOn(redis);
      await known.counts();
      // The same schedule again needs none.
      if (call === calls[3]) await known.unschedule('daily');
      await expect(call(known)).rejects.toMatchObject({ code: 'ERR_MEMORY_FULL' });
    }
  });

  test('has no memory left: progress and lines of handlers are kept, and fail nobody', async () => {
    const { redis, queue } = await newScene();
    const { id } = await queue.enqueue('t', 1, { attempts: 1 });
    await redis.config('SET', 'maxmemory', '1');
    const t = async (_: unknown, context: TaskContext): Promise<void> => {
      await context.progress({ half: true });
      await context.log('so far');
    };
    await launch(redis, 'q', { t }, { prefix });
    await until(async () => ['succeeded', 'dead'].includes((await queue.get(id))!.state));
    expect(await queue.get(id)).toMatchObject({
      state: 'succeeded',
      progress: { half: true },
      logs: [{ text: 'so far' }],
    });
  });
});

describe('a connection that comes back', () => {
  heldRechecks();

  test('lets the worker take up what came meanwhile', async () => {
    const { redis, queue, onError, proxy } = await newProxied();
    const run: unknown[] = [];
    await launch(connectTo(proxy), 'q', { t: (payload) => void run.push(payload) }, { prefix, onError });
    await until(async () => (await redis.zcard(keys.of.idle)) === 1);
    proxy.refuse();
    await queue.enqueue('t', 1);
    await proxy.restore();
    // The subscription is made whole, and says so.
    await until(() => run.length > 0);
    expect(run).toEqual([1]);
  });
});
