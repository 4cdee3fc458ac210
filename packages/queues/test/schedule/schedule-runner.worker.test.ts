import { describe, expect, test } from '@jest/globals';
import { Queue } from '@mortise/queues';
import { connect, freshPrefix, gate } from '@mortise/test-kit';
import { QueueKeys } from '../../src/keys.js';
import { heldRechecks } from '../fixture/paused-timers.js';
import { launch } from '../fixture/launch.js';
import { serverNow } from '../fixture/set-due.js';
import { until } from '../fixture/until.js';

const redis = connect();

// oxlint-disable-next-line typescript/no-explicit-any -- tests use payloads of all types
type Tasks = Record<string, any>;

function newQueue(shards?: number): { queue: Queue<Tasks>; keys: QueueKeys; prefix: string } {
  const prefix = freshPrefix();
  return {
    queue: new Queue<Tasks>(redis, 'q', { prefix, ...(shards !== undefined && { shards }) }),
    keys: new QueueKeys('q', prefix),
    prefix,
  };
}

/** Makes a schedule that begins in a second, at the instant that is returned; anew, if it was made too late for that. */
async function startSoon(schedule: (startAt: number) => Promise<{ nextAt?: number }>): Promise<number> {
  for (;;) {
    const startAt = (await serverNow(redis)) + 1_000;
    const { nextAt } = await schedule(startAt);
    if (nextAt === startAt) return startAt;
  }
}

describe('workers and schedules', () => {
  heldRechecks();

  test.each([1, 3])('each instant runs once across several workers, in %i shards', async (shards) => {
    const { queue, prefix } = newQueue(shards);
    const run: string[] = [];
    const t = (_: unknown, { headers }: { headers: Readonly<Record<string, string>> }): void =>
      void run.push(headers['schedule-instant']!);
    for (let n = 0; n < 4; n += 1) await launch(connect(), 'q', { t }, { prefix });
    const startAt = await startSoon((at) =>
      queue.schedule('tick', { everyMs: 1_000, startAt: at, maxRuns: 3, missed: 'all' }, 't', 1),
    );
    await until(() => run.length >= 3);
    await until(async () => (await queue.schedules())[0]!.nextAt === undefined);
    const instants = [0, 1, 2].map((index) => new Date(startAt + 1_000 * index).toISOString());
    expect(run.toSorted()).toEqual(instants);
    for (const instant of instants) {
      expect(await queue.get(`tick@${instant}`)).toMatchObject({ state: 'succeeded' });
    }
  });

  test('an idle worker is woken for a schedule before its timer', async () => {
    const { queue, keys, prefix } = newQueue();
    const run: number[] = [];
    await launch(redis, 'q', { t: async () => void run.push(await serverNow(redis)) }, { prefix });
    await queue.schedule('later', { everyMs: 1_000, startAt: (await serverNow(redis)) + 3_600_000 }, 't', 1);
    await until(async () => (await redis.get(keys.of.timekeeper)) !== null);
    const startAt = await startSoon((at) =>
      queue.schedule('sooner', { everyMs: 3_600_000, startAt: at }, 't', 1),
    );
    await until(() => run.length === 1);
    expect(run[0]).toBeGreaterThanOrEqual(startAt);
  });

  test('the next instant does not wait for the present run, nor for its success', async () => {
    const { queue, prefix } = newQueue();
    const going = gate();
    const begun: string[] = [];
    const t = async (_: unknown, { id }: { id: string }): Promise<void> => {
      begun.push(id);
      await going.passed;
      throw new Error('always');
    };
    await launch(redis, 'q', { t }, { prefix });
    const startAt = (await serverNow(redis)) + 200;
    await queue.schedule('tick', { everyMs: 1_000, startAt, maxRuns: 2 }, 't', 1, { attempts: 1 });
    await until(() => begun.length === 2);
    going.open();
    await until(async () => (await queue.counts()).dead === 2);
    expect(new Set(begun).size).toBe(2);
  });

  test('a busy worker fires as well', async () => {
    const { queue, prefix } = newQueue();
    let isFired = false;
    const handlers = { t: () => void (isFired = true), busy: () => (isFired ? undefined : again()) };
    const again = async (): Promise<void> => void (await queue.enqueue('busy', 1));
    await launch(redis, 'q', handlers, { prefix, concurrency: 2 });
    for (let n = 0; n < 50; n += 1) await again();
    await queue.schedule('tick', { everyMs: 1_000, maxRuns: 1 }, 't', 1);
    await until(() => isFired);
    expect(await queue.schedules()).toMatchObject([{ runs: 1 }]);
  });

  test('a paused queue keeps the tasks of its schedules', async () => {
    const { queue, prefix } = newQueue();
    const run: unknown[] = [];
    await queue.pause();
    await launch(redis, 'q', { t: (payload) => void run.push(payload) }, { prefix });
    await queue.schedule('tick', { everyMs: 1_000, maxRuns: 1 }, 't', 'paused');
    await until(async () => (await queue.counts()).ready === 1);
    expect(run).toEqual([]);
    await queue.resume();
    await until(() => run.length === 1);
    expect(run).toEqual(['paused']);
  });
});
