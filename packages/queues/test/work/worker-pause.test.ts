import { describe, expect, test } from '@jest/globals';
import { Queue, Worker } from '@mortise/queues';
import { connect, freshPrefix, gate } from '@mortise/test-kit';
import { QueueKeys } from '../../src/keys.js';
import { watched } from '../fixture/commands-of.js';
import { launch } from '../fixture/launch.js';
import { until } from '../fixture/until.js';

const redis = connect();

// oxlint-disable-next-line typescript/no-explicit-any -- tests use payloads of all types
type Tasks = Record<string, any>;

function newQueue(): { queue: Queue<Tasks>; prefix: string; keys: QueueKeys['of'] } {
  const prefix = freshPrefix();
  return { queue: new Queue(redis, 'q', { prefix }), prefix, keys: new QueueKeys('q', prefix).of };
}

describe('pause and resume', () => {
  test('a paused worker takes nothing; what runs goes on', async () => {
    const { queue, prefix, keys } = newQueue();
    const door = gate();
    const run: number[] = [];
    const t = async (payload: number): Promise<void> => {
      run.push(payload);
      await door.passed;
    };
    const worker = await launch(redis, 'q', { t }, { prefix });
    expect([worker.isRunning, worker.isPaused, worker.running]).toEqual([true, false, 0]);
    await queue.enqueue('t', 1);
    await until(() => run.length === 1);
    worker.pause();
    worker.pause();
    expect([worker.isRunning, worker.isPaused, worker.running]).toEqual([true, true, 1]);
    await until(async () => (await redis.exists(keys.idle)) === 0);
    await queue.enqueue('t', 2);
    door.open();
    await until(async () => (await queue.counts()).succeeded === 1);
    expect(await queue.counts()).toMatchObject({ ready: 1, active: 0 });
    expect(worker.running).toBe(0);
    worker.resume();
    await until(async () => (await queue.counts()).succeeded === 2);
    expect(run).toEqual([1, 2]);
    await worker.stop();
    expect(worker.isRunning).toBe(false);
  });

  test('a paused worker is not woken in place of another, and sends nothing', async () => {
    const { queue, prefix, keys } = newQueue();
    const { client, sent } = await watched();
    const run: string[] = [];
    const paused = await launch(client, 'q', { t: () => void run.push('paused') }, { prefix });
    await until(async () => (await redis.zcard(keys.idle)) === 1);
    paused.pause();
    await until(async () => (await redis.zcard(keys.idle)) === 0);
    await launch(redis, 'q', { t: () => void run.push('other') }, { prefix });
    await until(async () => (await redis.zcard(keys.idle)) === 1);
    const before = sent.length;
    for (let n = 1; n <= 20; n += 1) {
      await queue.enqueue('t', n);
      await until(async () => (await queue.counts()).succeeded === n);
    }
    expect(new Set(run)).toEqual(new Set(['other']));
    expect(sent.slice(before).filter(({ what }) => what === 'fetcher.fetch-and-ack')).toEqual([]);
  });

  test('legal before start and after stop', async () => {
    const { queue, prefix } = newQueue();
    await queue.enqueue('t', 1);
    const worker = new Worker<Tasks>(redis, ['q'], { t: () => 1 }, { prefix });
    worker.resume();
    worker.pause();
    await worker.start();
    expect([worker.isRunning, worker.isPaused]).toEqual([true, true]);
    // Another one takes the task.
    const other = await launch(redis, 'q', { t: () => 2 }, { prefix });
    await until(async () => (await queue.counts()).succeeded === 1);
    await other.stop();
    const { id } = await queue.enqueue('t', 1);
    worker.resume();
    await until(async () => (await queue.get(id))?.state === 'succeeded');
    expect(await queue.get(id)).toMatchObject({ result: 1 });
    await worker.stop();
    worker.pause();
    worker.resume();
    expect([worker.isRunning, worker.isPaused]).toEqual([false, false]);
  });
});
