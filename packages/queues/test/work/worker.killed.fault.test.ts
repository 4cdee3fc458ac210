import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { keys, newScene, prefix } from '../fixture/faults.js';
import { countsOf } from '../fixture/bench.js';
import { heldRechecks } from '../fixture/paused-timers.js';
import { launch } from '../fixture/launch.js';
import { kill, startProcess } from '../fixture/processes.js';
import { counted, reached, until } from '../fixture/until.js';

describe('a worker that is killed', () => {
  describe('beside one that nobody wakes', () => {
    heldRechecks();

    test('leaves what it held to that one at the end of the lease', async () => {
      const { single, redis, queue } = await newScene();
      const { child, reports } = startProcess(single.url, 'q', { prefix, leaseMs: 2_000, concurrency: 30 });
      const ids = await queue.enqueueMany(
        Array.from({ length: 30 }, () => ({ name: 'wait', payload: 60_000, options: { attempts: 50 } })),
      );
      await until(() => reports.length >= 30);
      const run: number[] = [];
      await launch(redis, 'q', { wait: (_, { attempt }) => void run.push(attempt) }, { prefix });
      await until(async () => (await redis.zcard(keys.of.idle)) > 0);
      const { leaseUntil = 0 } = (await queue.get(ids[0]!.id))!;
      await kill(child);
      // It has set a timer for the leases of others, and looks again when renewals have moved their ends.
      await until(() => run.length === 30);
      await counted(queue, { succeeded: 30 });
      expect((await queue.get(ids[0]!.id))!.finishedAt).toBeGreaterThanOrEqual(leaseUntil);
      expect(Math.min(...run)).toBeGreaterThan(1);
    });
  });

  test('another one takes over the time that it kept', async () => {
    const { single, redis, queue, onError } = await newScene();
    const { child } = startProcess(single.url, 'q', { prefix, leaseMs: 1_000 });
    await until(async () => (await redis.zcard(keys.of.idle)) === 1);
    const { id } = await queue.enqueue('wait', 0, { delayMs: 60_000 });
    await until(async () => (await redis.get(keys.of.timekeeper)) !== null);
    let isStarted = false;
    const handlers = { wait: () => void (isStarted = true) };
    const { id: heir } = await launch(redis, 'q', handlers, { prefix, leaseMs: 1_000, onError });
    await until(async () => (await redis.zcard(keys.of.idle)) === 2);
    await kill(child);
    await until(async () => (await redis.get(keys.of.timekeeper))?.endsWith(keys.wakeChannel(heir)));
    await queue.promote(id);
    expect(await until(() => isStarted)).toBe(true);
  });

  test('a task that kills every worker ends among the dead', async () => {
    const { single, redis, queue } = await newScene();
    const { id } = await queue.enqueue('crash', 1, { attempts: 2 });
    const options = { prefix, leaseMs: 1_000 };
    const begun: unknown[] = [];
    for (let n = 0; n < 2; n += 1) {
      const { child, reports } = startProcess(single.url, 'q', options);
      await once(child, 'exit');
      begun.push(...reports.map(({ type, attempt }) => [type, attempt]));
    }
    await launch(redis, 'q', { crash: () => undefined }, options);
    await reached(queue, id, 'dead');
    expect(begun).toEqual([
      ['begin', 1],
      ['begin', 2],
    ]);
    expect(await queue.get(id)).toMatchObject({
      attempt: 2,
      error: { message: expect.stringContaining('the lease ended') },
    });
  });

  test('a handler that blocks the event loop for longer than the lease cannot complete', async () => {
    const { single, redis, queue } = await newScene();
    const { reports } = startProcess(single.url, 'q', { prefix, leaseMs: 1_000 });
    await until(async () => (await redis.zcard(keys.of.idle)) === 1);
    const file = join(tmpdir(), `mortise-${randomUUID()}`);
    const { id } = await queue.enqueue('block', file);
    await until(() => reports.length === 1);
    await launch(redis, 'q', { block: () => 'done in time' }, { prefix });
    await reached(queue, id, 'succeeded');
    writeFileSync(file, 'go on');
    await until(() => reports.length === 2);
    rmSync(file);
    expect(reports[1]).toMatchObject({ type: 'error', code: 'ERR_LEASE_LOST' });
    expect(await queue.get(id)).toMatchObject({ result: 'done in time', attempt: 2 });
  });

  test('three processes that are killed amid 10,000 tasks: none is lost', async () => {
    const { single, redis, queue } = await newScene();
    const [rounds, batch] = [5, 2_000];
    const total = rounds * batch;
    const options = { prefix, leaseMs: 1_000, concurrency: 100, keepSucceeded: total, isQuiet: true };
    const processes = Array.from({ length: 3 }, () => startProcess(single.url, 'q', options));
    const reports = processes.map((process) => process.reports);
    await until(async () => (await redis.zcard(keys.of.idle)) === 3);
    const ids: string[] = [];
    for (let round = 0; round < rounds; round += 1) {
      const before = (await queue.counts()).succeeded;
      const enqueued = queue.enqueueMany(
        Array.from({ length: batch }, (_, payload) => ({
          name: 'count',
          payload,
          options: { attempts: 50 },
        })),
      );
      await until(async () => (await queue.counts()).succeeded > before + 200);
      await kill(processes[round % 3]!.child);
      processes[round % 3] = startProcess(single.url, 'q', options);
      reports.push(processes[round % 3]!.reports);
      ids.push(...(await enqueued).map(({ id }) => id));
    }
    await counted(queue, { succeeded: total });
    const runs = await redis.hgetall(`${prefix}:runs`);
    expect(new Set(Object.keys(runs))).toEqual(new Set(ids));
    expect(await queue.counts()).toEqual(countsOf({ succeeded: total }));
    // A busy machine may hold up a process for longer than its leases.
    const codes = new Set(reports.flat().map(({ code }) => code));
    codes.delete('ERR_LEASE_LOST');
    expect([...codes]).toEqual([]);
  });
});
