import { describe, expect, test } from '@jest/globals';
import { gate } from '@mortise/test-kit';
import { scheduleLease } from '../../src/scripts.gen.js';
import { connectTo, keys, newScene, prefix } from '../fixture/faults.js';
import type { ChildProcess } from 'node:child_process';
import { launch } from '../fixture/launch.js';
import { kill, startProcess } from '../fixture/processes.js';
import { serverNow } from '../fixture/set-due.js';
import { until } from '../fixture/until.js';

describe('schedules while workers are killed', () => {
  test('every instant has its task, each one once', async () => {
    const { single, redis, queue } = await newScene();
    const options = { prefix, leaseMs: 1_000, isQuiet: true };
    const workers: ChildProcess[] = Array.from(
      { length: 3 },
      () => startProcess(single.url, 'q', options).child,
    );
    const [seconds] = await redis.time();
    // The next second may begin before twenty schedules are set.
    const startAt = Number(seconds) * 1_000 + 2_000;
    const names = Array.from({ length: 20 }, (_, index) => `s${index}`);
    for (const [index, name] of names.entries()) {
      await queue.schedule(
        name,
        { everyMs: 1_000, startAt: startAt + 50 * index, missed: 'all', maxRuns: 4 },
        'count',
        1,
      );
    }
    // Each worker is killed when a schedule falls due, and replaced.
    for (let n = 0; n < 3; n += 1) {
      const due = startAt + 1_000 * n;
      await until(
        async () => Number((await redis.time())[0]) * 1_000 + Number((await redis.time())[1]) / 1_000 >= due,
      );
      await kill(workers[n]!);
      workers.push(startProcess(single.url, 'q', options).child);
    }
    const ended = async () => (await queue.schedules()).every(({ nextAt }) => nextAt === undefined);
    await until(ended);
    const expected = names.flatMap((name, index) =>
      Array.from(
        { length: 4 },
        (_, run) => `${name}@${new Date(startAt + 50 * index + 1_000 * run).toISOString()}`,
      ),
    );
    await until(async () => (await redis.hlen(`${prefix}:runs`)) === expected.length);
    expect((await redis.hkeys(`${prefix}:runs`)).toSorted()).toEqual(expected.toSorted());
    expect((await queue.schedules()).map(({ runs }) => runs)).toEqual(Array(20).fill(4));
  });

  test('a hanging worker is overtaken at the end of its lease, and changes nothing later', async () => {
    const { single, redis, queue } = await newScene();
    const silent = connectTo(single);
    const call = silent.callBuffer.bind(silent) as (command: string, args: unknown[]) => Promise<unknown>;
    const leased = gate();
    const going = gate();
    silent.callBuffer = (async (command: string, args: unknown[]) => {
      const reply = await call(command, args);
      if (args[0] !== scheduleLease.sha1 && args[0] !== scheduleLease.definition.source) return reply;
      leased.open();
      await going.passed;
      return reply;
    }) as typeof silent.callBuffer;
    const run: string[] = [];
    const handlers = { t: (_: unknown, { id }: { id: string }) => void run.push(id) };
    await launch(silent, 'q', handlers, { prefix });
    const dueAt = (Number((await redis.time())[0]) + 1) * 1_000;
    await queue.schedule('tick', { everyMs: 3_600_000, startAt: dueAt }, 't', 1);
    await leased.passed;
    expect(Number(await redis.zscore(keys.of.dueSchedules, 'tick'))).toBeGreaterThan(await serverNow(redis));
    // As if the lease had ended.
    await redis.zadd(keys.of.dueSchedules, 'XX', dueAt, 'tick');
    await launch(redis, 'q', handlers, { prefix });
    await until(() => run.length === 1);
    going.open();
    await until(async () => (await queue.schedules())[0]!.nextAt === dueAt + 3_600_000);
    await until(async () => (await redis.zcard(keys.of.idle)) === 2);
    expect(run).toEqual([`tick@${new Date(dueAt).toISOString()}`]);
    expect(await queue.schedules()).toMatchObject([{ runs: 1, lastAt: dueAt }]);
  });
});
