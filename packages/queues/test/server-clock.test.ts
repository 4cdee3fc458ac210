import { describe, expect, jest, test } from '@jest/globals';
import { Queue } from '@mortise/queues';
import { connect, freshPrefix } from '@mortise/test-kit';
import { QueueKeys } from '../src/keys.js';
import { ServerClock } from '../src/queue/server-clock.js';
import { encodeTaskId } from '../src/task/task-id.js';

const redis = connect();

/** How far the clock is from one that is `ahead` of the monotonic one. */
function error(clock: ServerClock, ahead: number): number {
  return clock.now() - (performance.now() + ahead);
}

describe('the time of a server', () => {
  test('is unknown before the first reply', () => {
    expect(new ServerClock().now()).toBe(0);
  });

  test('lies between the sending and the receiving of each call that told it', () => {
    const clock = new ServerClock();
    const ahead = 1_700_000_000_000;
    const sentAt = performance.now() - 40;
    clock.learn(sentAt, Math.floor(sentAt + 20 + ahead));
    expect(Math.abs(error(clock, ahead))).toBeLessThan(30);
  });

  test('is learned from the quickest calls', () => {
    const clock = new ServerClock();
    const ahead = 5_000;
    clock.learn(performance.now() - 1_000, Math.floor(performance.now() + ahead));
    clock.learn(performance.now(), Math.floor(performance.now() + ahead));
    clock.learn(performance.now() - 1_000, Math.floor(performance.now() - 1_000 + ahead));
    // A second more or less, if either of the slow ones had counted.
    expect(Math.abs(error(clock, ahead))).toBeLessThan(250);
  });

  test('is known from above: never before that of the server, however long a reply was held up', () => {
    const clock = new ServerClock();
    const ahead = 1_700_000_000_000;
    expect(clock.latest()).toBe(Infinity);
    // The server told its time at once, and was heard 40 ms later.
    const sentAt = performance.now() - 40;
    clock.learn(sentAt, Math.floor(sentAt + ahead));
    for (let round = 0; round < 100; round += 1) {
      const serverMs = performance.now() + ahead;
      // Numbers of this size have 0.0002 ms.
      expect(clock.latest()).toBeGreaterThanOrEqual(serverMs - 0.01);
      clock.learn(performance.now() - round, Math.floor(performance.now() + ahead));
    }
  });

  test.each([60_000, -60_000])('follows at once when the server is set by %d ms', (step) => {
    const clock = new ServerClock();
    const ahead = 1_000_000;
    clock.learn(performance.now(), Math.floor(performance.now() + ahead));
    clock.learn(performance.now(), Math.floor(performance.now() + ahead + step));
    expect(Math.abs(error(clock, ahead + step))).toBeLessThan(250);
    const serverMs = performance.now() + ahead + step;
    expect(clock.latest()).toBeGreaterThanOrEqual(serverMs);
    expect(clock.latest()).toBeLessThan(serverMs + 250);
  });
});

describe('a task', () => {
  const queue = new Queue<Record<string, number>>(redis, 'q', { prefix: freshPrefix() });

  async function isTimely(id: string): Promise<boolean> {
    const { enqueuedAt } = (await queue.get(id))!;
    const [seconds] = await redis.time();
    return Math.abs(enqueuedAt - 1_000 * Number(seconds)) < 5_000;
  }

  test('was enqueued at the time of the server, whatever its client takes that to be', async () => {
    const ids: string[] = [];
    const enqueue = async (): Promise<void> => void ids.push((await queue.enqueue('t', 1)).id);
    // Before anything is known of it, and when it is known.
    await enqueue();
    await enqueue();
    for (const step of [3_600_000, -3_600_000, 1_000]) {
      const now = performance.now.bind(performance);
      const jump = jest.spyOn(performance, 'now').mockImplementation(() => now() + step);
      await enqueue();
      await enqueue();
      jump.mockRestore();
      await enqueue();
    }
    expect(await Promise.all(ids.map((id) => isTimely(id)))).toEqual(ids.map(() => true));
  });

  test('with a delay waits from the call on, not from when it is sent', async () => {
    await queue.enqueue('t', 1);
    const enqueued = queue.enqueue('t', 1, { delayMs: 60_000 });
    const called = performance.now();
    while (performance.now() < called + 200);
    const { id } = await enqueued;
    const { runAt, enqueuedAt } = (await queue.get(id))!;
    expect(runAt! - enqueuedAt).toBeLessThan(59_900);
    expect(runAt! - enqueuedAt).toBeGreaterThan(0);
  });

  test('with a delay is due to the µs, and not at the end of its ms', async () => {
    const prefix = freshPrefix();
    const exact = new Queue<Record<string, number>>(redis, 'q', { prefix, priorities: ['only'] });
    const scheduled = new QueueKeys('q', prefix).priorityKeys(1)[1]!;
    const serverUs = async (): Promise<number> => {
      const [seconds, us] = await redis.time();
      return Number(seconds) * 1_000_000 + Number(us);
    };
    for (let round = 0; round < 30; round += 1) {
      const calledUs = await serverUs();
      const { id } = await exact.enqueue('t', round, { delayMs: 60_000 });
      const dueUs = Math.round(1_000 * Number(await redis.zscore(scheduled, encodeTaskId(id))));
      expect(dueUs - calledUs).toBeGreaterThanOrEqual(60_000_000);
      expect(dueUs - (await serverUs())).toBeLessThanOrEqual(60_000_000);
    }
  });

  test('with a delay is never due before that has passed, also when the first reply was held up here', async () => {
    for (let round = 0; round < 30; round += 1) {
      const fresh = new Queue<Record<string, number>>(redis, `q${round}`, { prefix: freshPrefix() });
      await fresh.counts();
      const first = fresh.enqueue('t', 1);
      await new Promise(setImmediate);
      const sentAt = performance.now();
      while (performance.now() < sentAt + 15);
      await first;
      const [seconds, us] = await redis.time();
      const { id } = await fresh.enqueue('t', 1, { delayMs: 60_000 });
      const calledAt = Number(seconds) * 1_000 + Number(us) / 1_000;
      expect((await fresh.get(id))!.runAt! - calledAt).toBeGreaterThanOrEqual(60_000);
    }
  });
});
