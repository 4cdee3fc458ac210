import { describe, expect, jest, test } from '@jest/globals';
import { Queue } from '@mortise/queues';
import { connect, freshPrefix } from '@mortise/test-kit';
import { QueueKeys } from '../../src/keys.js';
import { encodeTaskId } from '../../src/task/task-id.js';

const redis = connect();

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
