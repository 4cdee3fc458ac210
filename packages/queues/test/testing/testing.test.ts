import { readFile } from 'node:fs/promises';
import { afterEach, describe, expect, test } from '@jest/globals';
import type { TaskContext } from '../../src/index.js';
import { Queue, Worker } from '../../src/index.js';
import { queueMatchers, runTask, testContext, TestQueues } from '../../src/testing/index.js';
import type { QueueMatchers } from '../../src/testing/index.js';

expect.extend(queueMatchers);
const expectQueue = expect as unknown as (queue: Queue<Mail>) => QueueMatchers & { not: QueueMatchers };

type Mail = { 'mail.send': { to: string }; 'mail.report': null };

let queues: TestQueues | undefined;

function opened(): { queues: TestQueues; mail: Queue<Mail> } {
  queues = new TestQueues({ startAt: Date.UTC(2030, 0, 1) });
  return { queues, mail: new Queue<Mail>(queues.redis, 'mail') };
}

afterEach(async () => {
  await queues?.close();
});

describe('drain', () => {
  test('runs what is due, also what handlers enqueue, and tells the attempts', async () => {
    const { queues: own, mail } = opened();
    await mail.enqueue('mail.report', null);
    const attempts = await own.drain<Mail>('mail', {
      'mail.report': async () => void (await mail.enqueue('mail.send', { to: 'ann' })),
      'mail.send': ({ to }) => `sent to ${to}`,
    });
    expect(
      attempts
        .map(({ name, result }) => [name, result])
        .toSorted(([left], [right]) => String(left).localeCompare(String(right))),
    ).toEqual([
      ['mail.report', undefined],
      ['mail.send', 'sent to ann'],
    ]);
    expect(await mail.counts()).toMatchObject({ ready: 0, active: 0, succeeded: 2 });
  });

  test('leaves scheduled tasks, and runs them once the clock has advanced', async () => {
    const { queues: own, mail } = opened();
    await mail.enqueue('mail.send', { to: 'ann' }, { delayMs: 7_200_000 });
    const handlers = { 'mail.send': () => undefined, 'mail.report': () => undefined };
    expect(await own.drain('mail', handlers)).toEqual([]);
    await own.clock.advance('1h 59m');
    expect(await own.drain('mail', handlers)).toEqual([]);
    await own.clock.advance('1m');
    expect(await own.drain('mail', handlers)).toHaveLength(1);
  });

  test('ends while a task sleeps or waits for an event, also after I/O of its handler', async () => {
    const { queues: own } = opened();
    const orders = new Queue<{ order: { payload: null; result: string } }>(own.redis, 'orders');
    const { id } = await orders.enqueue('order', null);
    const handlers = {
      order: {
        handle: async (_: null, ctx: TaskContext) => {
          await readFile(import.meta.filename);
          await ctx.sleep(60_000);
          return ctx.waitFor<string>('approved', { timeoutMs: 86_400_000 });
        },
      },
    };
    expect(await own.drain('orders', handlers)).toEqual([]);
    await own.clock.advance('1m');
    expect(await own.drain('orders', handlers)).toEqual([]);
    expect((await orders.get(id))!.waitsFor).toBe('approved');
    await orders.deliver(id, 'approved', 'by ann');
    expect(await own.drain('orders', handlers)).toMatchObject([{ attempt: 1, result: 'by ann' }]);
  });

  test('delayed: lets the time of a wait pass', async () => {
    const { queues: own, mail } = opened();
    await mail.enqueue('mail.report', null);
    const wait = async (_: null, ctx: TaskContext): Promise<void> =>
      ctx.waitFor('approved', { timeoutMs: 3_600_000 });
    const before = own.clock.now;
    const handlers = { 'mail.report': wait, 'mail.send': () => undefined };
    expect(await own.drain('mail', handlers, { delayed: true })).toMatchObject([
      { error: { code: 'ERR_EVENT_TIMEOUT' } },
    ]);
    expect(own.clock.now - before).toBeGreaterThanOrEqual(3_600_000);
  });

  test('calls methods of classes, and refuses an unknown option of a handler', async () => {
    const { queues: own, mail } = opened();
    class Sender {
      readonly timeoutMs = 60_000;
      readonly #sent: string[] = [];

      handle({ to }: { to: string }): number {
        return this.#sent.push(to);
      }
    }
    await mail.enqueue('mail.send', { to: 'ann' });
    const handlers = { 'mail.send': new Sender(), 'mail.report': () => undefined };
    expect(await own.drain('mail', handlers)).toMatchObject([{ result: 1 }]);
    const wrong = { ...handlers, 'mail.report': { handle: () => undefined, timeOutMs: 1 } };
    await expect(own.drain('mail', wrong)).rejects.toThrow(/timeOutMs/);
  });

  test('delayed: lets the time pass for retries and scheduled tasks', async () => {
    const { queues: own, mail } = opened();
    const before = own.clock.now;
    await mail.enqueue('mail.send', { to: 'ann' }, { delayMs: 1_800_000, attempts: 3 });
    const attempts = await own.drain<Mail>(
      'mail',
      {
        'mail.send': (_, { attempt }) => {
          if (attempt < 3) throw new Error(`no ${attempt}`);
        },
        'mail.report': () => undefined,
      },
      { delayed: true, onFailed: () => undefined },
    );
    expect(attempts.map(({ attempt, error }) => [attempt, error instanceof Error])).toEqual([
      [1, true],
      [2, true],
      [3, false],
    ]);
    expect(own.clock.now - before).toBeGreaterThan(1_800_000);
  });
});

describe('runTask', () => {
  const handlers = {
    'mail.send': ({ to }: Mail['mail.send'], { attempt }: { attempt: number }) => {
      if (attempt < 3) throw new Error(`no ${attempt}`);
      return `sent to ${to}`;
    },
    'mail.report': () => undefined,
  };

  test('returns the attempts of a task, and its retries take no time', async () => {
    const before = performance.now();
    const attempts = await runTask<Mail, 'mail.send'>(handlers, 'mail.send', { to: 'ann' });
    expect(attempts.map(({ attempt, error, result }) => [attempt, error, result])).toEqual([
      [1, expect.objectContaining({ message: 'no 1' }), undefined],
      [2, expect.objectContaining({ message: 'no 2' }), undefined],
      [3, undefined, 'sent to ann'],
    ]);
    // The backoffs would take up to 3 s.
    expect(performance.now() - before).toBeLessThan(1_000);
  });

  test('takes the options of enqueue', async () => {
    const options = { attempts: 2, delayMs: 3_600_000 };
    expect(await runTask(handlers, 'mail.send', { to: 'ann' }, options)).toHaveLength(2);
  });

  test('gives the clock back, also after a refusal', async () => {
    await expect(runTask(handlers, 'mail.send', { to: 'ann' }, { attempts: 0 })).rejects.toThrow(/attempts/);
    expect(await runTask(handlers, 'mail.report', null)).toHaveLength(1);
  });

  test('throws while another virtual clock is installed', async () => {
    opened();
    await expect(runTask(handlers, 'mail.report', null)).rejects.toThrow(/clock/);
  });
});

describe('the clock', () => {
  test('fires schedules', async () => {
    const { queues: own, mail } = opened();
    await mail.schedule('report', { cron: '*/10 * * * *', timezone: 'UTC' }, 'mail.report', null);
    let reports = 0;
    const handlers = { 'mail.report': () => void (reports += 1), 'mail.send': () => undefined };
    const worker = new Worker<Mail>(own.redis, ['mail'], handlers);
    await worker.start();
    await own.clock.advance('31m');
    expect(reports).toBe(3);
    await worker.stop();
  });
});

describe('toHaveEnqueued', () => {
  test('finds a task by its name and payload', async () => {
    const { mail } = opened();
    await mail.enqueue('mail.send', { to: 'ann' }, { delayMs: 1_000 });
    await expectQueue(mail).toHaveEnqueued('mail.send');
    await expectQueue(mail).toHaveEnqueued('mail.send', { to: 'ann' });
    await expectQueue(mail).not.toHaveEnqueued('mail.send', { to: 'bob' });
    await expect(expectQueue(mail).toHaveEnqueued('mail.report')).rejects.toThrow(/mail.send { to: 'ann' }/);
  });
});

test('testContext records what a handler reports', async () => {
  const context = testContext({ attempt: 2 });
  await context.progress(0.5);
  await context.log('half');
  expect([context.attempt, context.progressed, context.logged]).toEqual([2, [0.5], ['half']]);
});
