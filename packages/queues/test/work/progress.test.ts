import { describe, expect, test } from '@jest/globals';
import { Queue } from '@mortise/queues';
import type { TaskContext, Worker } from '@mortise/queues';
import { connect, freshPrefix, gate, transcript } from '@mortise/test-kit';
import { QueueKeys } from '../../src/keys.js';
import * as scripts from '../../src/scripts.gen.js';
import { readLogLines } from '../../src/task/log-lines.js';
import { encodeTaskId } from '../../src/task/task-id.js';
import { launch } from '../fixture/launch.js';
import { serverNow } from '../fixture/set-due.js';
import { until } from '../fixture/until.js';

const redis = connect();

// oxlint-disable-next-line typescript/no-explicit-any -- tests use payloads of all types
type Tasks = Record<string, any>;

/** A task that runs until the door is opened. */
async function newRun(id = 'a'): Promise<{
  queue: Queue<Tasks>;
  prefix: string;
  keys: QueueKeys['of'];
  worker: Worker<Tasks>;
  context: TaskContext;
  open: () => void;
  errors: unknown[];
}> {
  const prefix = freshPrefix();
  const queue = new Queue<Tasks>(redis, 'q', { prefix });
  const door = gate();
  const contexts: TaskContext[] = [];
  const errors: unknown[] = [];
  const t = async (_: unknown, context: TaskContext): Promise<void> => {
    contexts.push(context);
    await door.passed;
  };
  const worker = await launch(redis, 'q', { t }, { prefix, onError: (error) => errors.push(error) });
  await queue.enqueue('t', 1, { id });
  await until(() => contexts.length === 1);
  const keys = new QueueKeys('q', prefix).of;
  return { queue, prefix, keys, worker, context: contexts[0]!, open: () => door.open(), errors };
}

describe('progress', () => {
  test('is stored when it resolves; the latest wins', async () => {
    const { context, keys } = await newRun();
    await context.progress({ done: 1, of: 3 });
    expect(await redis.hgetBuffer(keys.progress, encodeTaskId('a'))).toEqual(
      Buffer.from('{"done":1,"of":3}'),
    );
    await Promise.all([context.progress(2), context.progress('é'), context.progress(null)]);
    expect(await redis.hget(keys.progress, encodeTaskId('a'))).toBe('null');
  });

  test('reports of one tick travel in one call', async () => {
    const { context, prefix } = await newRun();
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
    const { context, keys } = await newRun();
    await expect(context.progress(value)).rejects.toThrow(message);
    expect(await redis.exists(keys.progress)).toBe(0);
  });

  test('16,384 bytes are not too many', async () => {
    const { context, keys } = await newRun();
    await context.progress('x'.repeat(16_382));
    expect(await redis.hstrlen(keys.progress, encodeTaskId('a') as unknown as string)).toBe(16_384);
  });
});

describe('log', () => {
  test('lines are kept in order, with the time of the server', async () => {
    const { context, keys } = await newRun();
    const before = await serverNow(redis);
    await context.log('one');
    await Promise.all([context.log(''), context.log('two %1 %s \u2028 é'), context.log('a\nb\r\nc')]);
    const lines = readLogLines(await redis.hget(keys.logs, encodeTaskId('a')));
    expect(lines.map(({ text }) => text)).toEqual(['one', '', 'two %1 %s \u2028 é', 'a', 'b', 'c']);
    const instants = [before, ...lines.map(({ at }) => at), await serverNow(redis)];
    expect(instants).toEqual(instants.toSorted((a, b) => a - b));
  });

  test('the last 100 of them, in 16,384 bytes', async () => {
    const { context, keys } = await newRun();
    for (let n = 0; n < 30; n += 1) {
      await context.log(Array.from({ length: 7 }, (_, line) => `${n}.${line}`).join('\n'));
    }
    const read = async (): Promise<string[]> =>
      readLogLines(await redis.hget(keys.logs, encodeTaskId('a'))).map(({ text }) => text);
    const lines = await read();
    expect(lines).toHaveLength(100);
    expect([lines[0], lines[99]]).toEqual(['15.5', '29.6']);
    await context.log('x\n'.repeat(1_000));
    expect(await read()).toHaveLength(100);
    for (let n = 0; n < 10; n += 1) await context.log('é'.repeat(3_000));
    const stored = await redis.hgetBuffer(keys.logs, encodeTaskId('a'));
    expect(stored!.length).toBeLessThanOrEqual(16_384);
    expect(await read()).toEqual(Array(8).fill(`${'é'.repeat(1_000)}…`));
  });

  test('is a string', async () => {
    const { context, keys } = await newRun();
    await expect(context.log(1 as unknown as string)).rejects.toThrow(TypeError);
    expect(await redis.exists(keys.logs)).toBe(0);
  });
});

describe('both', () => {
  test('stay with the task when it has ended, and are shown with it', async () => {
    const { context, queue, open } = await newRun();
    await context.progress(0.5);
    await context.log('half');
    open();
    await until(async () => (await queue.get('a'))?.state === 'succeeded');
    expect(await queue.get('a')).toMatchObject({
      progress: 0.5,
      logs: [{ at: expect.any(Number), text: 'half' }],
    });
    await expect(context.progress(1)).rejects.toMatchObject({ code: 'ERR_LEASE_LOST' });
    await expect(context.log('more')).rejects.toMatchObject({ code: 'ERR_LEASE_LOST' });
    expect(await queue.get('a')).toMatchObject({ progress: 0.5 });
  });

  test('are refused when another worker has the lease, and the attempt is aborted', async () => {
    const { context, keys, errors } = await newRun();
    await context.progress(1);
    await context.log('mine');
    const last = await redis.hgetBuffer(keys.attempts, encodeTaskId('a'));
    last!.writeUInt32BE((last!.readUInt32BE(1) + 1) % 2 ** 32, 1);
    await redis.hset(keys.attempts, encodeTaskId('a'), last!);
    await expect(context.progress(2)).rejects.toMatchObject({ code: 'ERR_LEASE_LOST', taskId: 'a' });
    expect(context.signal.reason).toMatchObject({ code: 'ERR_LEASE_LOST' });
    await expect(context.log('not mine')).rejects.toMatchObject({ code: 'ERR_LEASE_LOST' });
    expect(await redis.hget(keys.progress, encodeTaskId('a'))).toBe('1');
    expect(errors).toHaveLength(1);
  });

  test('of many tasks of a worker travel together', async () => {
    const prefix = freshPrefix();
    const queue = new Queue<Tasks>(redis, 'q', { prefix });
    const notes = async (payload: number, { progress: tell, log }: TaskContext): Promise<void> => {
      await Promise.all([tell(payload), log(`line ${payload}`)]);
    };
    await launch(redis, 'q', { notes }, { prefix, concurrency: 500 });
    const enqueued = await queue.enqueueMany(
      Array.from({ length: 550 }, (_, payload) => ({ name: 'notes', payload })),
    );
    await until(async () => (await queue.counts()).succeeded === 550);
    const { progress, logs } = new QueueKeys('q', prefix).of;
    for (const [index, { id }] of enqueued.entries()) {
      if (index % 100 > 0) continue;
      expect(await redis.hget(progress, encodeTaskId(id))).toBe(String(index));
      expect(await redis.hget(logs, encodeTaskId(id))).toMatch(new RegExp(`^\\d{13} line ${index}\n$`));
    }
    expect([await redis.hlen(progress), await redis.hlen(logs)]).toEqual([550, 550]);
  });
});
