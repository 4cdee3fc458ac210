import { expect, test } from '@jest/globals';
import { Queue } from '@mortise/queues';
import { connect, freshPrefix, until } from '@mortise/test-kit';
import type { Attempt } from '../../src/work/attempt.js';
import { launch } from '../fixture/launch.js';

const redis = connect();
const TASKS = 200;

/** By how much the clock of the server is ahead of `performance.now()`, at least, in ms. */
async function leastAhead(): Promise<number> {
  let least = -Infinity;
  for (let time = 0; time < 100; time += 1) {
    const [seconds, micros] = await redis.time();
    least = Math.max(least, Number(seconds) * 1_000 + Number(micros) / 1_000 - performance.now());
  }
  return least;
}

// The server counts in whole ms: a lease that was given at the end of one ends by almost 1 ms early.
test.each(['fetched from the queue', 'handed off with the wake-up'])(
  'no worker believes in a lease longer than the server does: tasks %s',
  async (how) => {
    const prefix = freshPrefix();
    const queue = new Queue<{ look: number }>(redis, 'q', { prefix });
    const left: number[] = [];
    const ahead = await leastAhead();
    const look = async (_: unknown, context: object): Promise<void> => {
      const { id, leaseEndsAt } = context as Attempt;
      const { leaseUntil } = (await queue.get(id))!;
      left.push(leaseUntil! - (leaseEndsAt + ahead));
    };
    const isHanded = how.startsWith('handed');
    const tasks = Array.from({ length: TASKS }, (_, payload) => ({ name: 'look' as const, payload }));
    if (!isHanded) await queue.enqueueMany(tasks);
    await launch(redis, 'q', { look }, { prefix, concurrency: 1 });
    for (const { name, payload } of isHanded ? tasks : []) {
      await queue.enqueue(name, payload);
      await until('its end', () => Promise.resolve(left.length > payload));
    }
    await until('all', () => Promise.resolve(left.length === TASKS));
    expect(Math.min(...left)).toBeGreaterThanOrEqual(0);
  },
);
