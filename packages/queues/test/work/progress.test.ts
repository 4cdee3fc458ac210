import { describe, expect, test } from '@jest/globals';
import type { TaskContext, WorkerOptions } from '@mortise/queues';
import { transcript } from '@mortise/test-kit';
import * as scripts from '../../src/scripts.gen.js';
import { readLogLines } from '../../src/task/log-lines.js';
import { encodeTaskId } from '../../src/task/task-id.js';
import { serverNow } from '../fixture/set-due.js';
import { newQueue, redis } from '../fixture/new-queue.js';
import type { Run } from '../fixture/new-run.js';
import { newRun } from '../fixture/new-run.js';
import { counted, reached, until } from '../fixture/until.js';

/** The task `a`, which runs until the test opens a door. */
async function newTask(options: WorkerOptions = {}): Promise<Run & { readonly context: TaskContext }> {
  const run = await newRun(options);
  await run.queue.enqueue('t', 1, { id: 'a' });
  return { ...run, context: (await until(() => run.contexts[0]))! };
}

describe('progress', () => {
  test('is stored when it resolves; the latest wins', async () => {
    const { context, keys } = await newTask();
    await context.progress({ done: 1, of: 3 });
    expect(await redis.hgetBuffer(keys.of.progress, encodeTaskId('a'))).toEqual(
      Buffer.from('{"done":1,"of":3}'),
    );
    await Promise.all([context.progress(2), context.progress('é'), context.progress(null)]);
    expect(await redis.hget(keys.of.progress, encodeTaskId('a'))).toBe('null');
  });

  test('reports of one tick travel in one call', async () => {
    const { context, prefix } = await newTask();
    await context.progress(0);
    const lines = await transcript(redis, { prefix, scripts }, () =>
      Promise.all([context.progress(1), context.log('one'), context.progress(2), context.log('two')]),
    );
    const commands = lines.map((line) => line.replaceAll('queues:{q}:', ''));
    expect(commands.map((line) => line.trim().split(' ').slice(0, 2).join(' '))).toEqual([
      expect.stringContaining('heartbeater.report'),
      'time',
      'hmget attempts',
      'hget logs',
      'hset progress',
      'hset logs',
    ]);
  });

  test.each<[unknown, RegExp]>([
    [undefined, /progress must be JSON, got undefined/],
    [() => 1, /progress must be JSON, got function/],
    [1n, /progress is not JSON/],
    ['é'.repeat(8_192), /at most 16384 bytes as JSON, got 16386/],
  ])('%p is refused', async (value, message) => {
    const { context, keys } = await newTask();
    await expect(context.progress(value)).rejects.toThrow(message);
    expect(await redis.exists(keys.of.progress)).toBe(0);
  });

  test('16,384 bytes are not too many', async () => {
    const { context, keys } = await newTask();
    await context.progress('x'.repeat(16_382));
    expect(await redis.hstrlen(keys.of.progress, encodeTaskId('a') as unknown as string)).toBe(16_384);
  });
});

describe('log', () => {
  test('lines are kept in order, with the time of the server', async () => {
    const { context, keys } = await newTask();
    const before = await serverNow(redis);
    await context.log('one');
    await Promise.all([context.log(''), context.log('two %1 %s \u2028 é'), context.log('a\nb\r\nc')]);
    const lines = readLogLines(await redis.hget(keys.of.logs, encodeTaskId('a')));
    expect(lines.map(({ text }) => text)).toEqual(['one', '', 'two %1 %s \u2028 é', 'a', 'b', 'c']);
    const instants = [before, ...lines.map(({ at }) => at), await serverNow(redis)];
    expect(instants).toEqual(instants.toSorted((a, b) => a - b));
  });

  test('the last 100 of them, in 16,384 bytes', async () => {
    const { context, keys } = await newTask();
    for (let n = 0; n < 30; n += 1) {
      await context.log(Array.from({ length: 7 }, (_, line) => `${n}.${line}`).join('\n'));
    }
    const read = async (): Promise<string[]> =>
      readLogLines(await redis.hget(keys.of.logs, encodeTaskId('a'))).map(({ text }) => text);
    const lines = await read();
    expect(lines).toHaveLength(100);
    expect([lines[0], lines[99]]).toEqual(['15.5', '29.6']);
    await context.log('x\n'.repeat(1_000));
    expect(await read()).toHaveLength(100);
    for (let n = 0; n < 10; n += 1) await context.log('é'.repeat(3_000));
    const stored = await redis.hgetBuffer(keys.of.logs, encodeTaskId('a'));
    expect(stored!.length).toBeLessThanOrEqual(16_384);
    expect(await read()).toEqual(Array(8).fill(`${'é'.repeat(1_000)}…`));
  });

  test('is a string', async () => {
    const { context, keys } = await newTask();
    await expect(context.log(1 as unknown as string)).rejects.toThrow(TypeError);
    expect(await redis.exists(keys.of.logs)).toBe(0);
  });
});

describe('both', () => {
  test('stay with the task when it has ended, and are shown with it', async () => {
    const { context, queue, open } = await newTask();
    await context.progress(0.5);
    await context.log('half');
    open();
    expect(await reached(queue, 'a', 'succeeded')).toMatchObject({
      progress: 0.5,
      logs: [{ at: expect.any(Number), text: 'half' }],
    });
    await expect(context.progress(1)).rejects.toMatchObject({ code: 'ERR_ATTEMPT_ENDED' });
    await expect(context.log('more')).rejects.toMatchObject({ code: 'ERR_ATTEMPT_ENDED' });
    expect(await queue.get('a')).toMatchObject({ progress: 0.5 });
  });

  test('are refused when another worker has the lease, and the attempt is aborted', async () => {
    const errors: unknown[] = [];
    const { context, keys } = await newTask({ onError: (error) => errors.push(error) });
    await context.progress(1);
    await context.log('mine');
    const last = await redis.hgetBuffer(keys.of.attempts, encodeTaskId('a'));
    last!.writeUInt32BE((last!.readUInt32BE(1) + 1) % 2 ** 32, 1);
    await redis.hset(keys.of.attempts, encodeTaskId('a'), last!);
    await expect(context.progress(2)).rejects.toMatchObject({ code: 'ERR_LEASE_LOST', taskId: 'a' });
    expect(context.signal.reason).toMatchObject({ code: 'ERR_LEASE_LOST' });
    await expect(context.log('not mine')).rejects.toMatchObject({ code: 'ERR_LEASE_LOST' });
    expect(await redis.hget(keys.of.progress, encodeTaskId('a'))).toBe('1');
    expect(errors).toHaveLength(1);
  });

  test('of many tasks of a worker travel together', async () => {
    const { queue, keys, work } = newQueue();
    const notes = async (payload: number, { progress: tell, log }: TaskContext): Promise<void> => {
      await Promise.all([tell(payload), log(`line ${payload}`)]);
    };
    await work({ notes }, { concurrency: 500 });
    const enqueued = await queue.enqueueMany(
      Array.from({ length: 550 }, (_, payload) => ({ name: 'notes', payload })),
    );
    await counted(queue, { succeeded: 550 });
    const { progress, logs } = keys.of;
    for (const [index, { id }] of enqueued.entries()) {
      if (index % 100 > 0) continue;
      expect(await redis.hget(progress, encodeTaskId(id))).toBe(String(index));
      expect(await redis.hget(logs, encodeTaskId(id))).toMatch(new RegExp(`^\\d{13} line ${index}\n$`));
    }
    expect([await redis.hlen(progress), await redis.hlen(logs)]).toEqual([550, 550]);
  });
});
