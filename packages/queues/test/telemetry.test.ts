import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, test } from '@jest/globals';
import type { TaskContext, WorkerOptions } from '@mortise/queues';
import { Claims, Discard, Queue, RetryLater, Worker } from '@mortise/queues';
import type { Telemetry } from '@mortise/redis';
import type { Gate } from '@mortise/test-kit';
import { freshPrefix, gate, listedMetrics, namesAndUnits, Recording, until } from '@mortise/test-kit';
import { METRICS } from '../src/telemetry.js';
import type { NewQueue } from './fixture/new-queue.js';
import { newQueue, redis } from './fixture/new-queue.js';

/** A queue and workers that share one telemetry. */
function set(telemetry = new Recording()) {
  const given = newQueue({ telemetry });
  const defaults: WorkerOptions = { telemetry, backoff: { type: 'fixed', delayMs: 1 } };
  const work: NewQueue['work'] = (handlers, options) => given.work(handlers, { ...defaults, ...options });
  return { ...given, telemetry, work };
}

const ATTRIBUTES = {
  'messaging.system': 'mortise',
  'messaging.destination.name': 'q',
  'mortise.task.name': 't',
};

describe('a queue', () => {
  test('counts stored tasks, and has a span for each call', async () => {
    const { queue, telemetry } = set();
    const { id } = await queue.enqueue('t', 1);
    await queue.enqueueMany([
      { name: 't', payload: 1, options: { id: 'a' } },
      { name: 't', payload: 1, options: { id: 'a' } },
      { name: 'u', payload: 1 },
    ]);
    expect(telemetry.counted).toEqual([
      { name: 'mortise.queues.enqueued', value: 1, attributes: ATTRIBUTES },
      { name: 'mortise.queues.enqueued', value: 1, attributes: ATTRIBUTES },
      { name: 'mortise.queues.enqueued', value: 1, attributes: { ...ATTRIBUTES, 'mortise.task.name': 'u' } },
    ]);
    const common = {
      'messaging.system': 'mortise',
      'messaging.destination.name': 'q',
      'messaging.operation.name': 'send',
      'messaging.operation.type': 'send',
    };
    expect(telemetry.spans).toMatchObject([
      {
        name: 'send q',
        kind: 'producer',
        attributes: { ...common, 'mortise.task.name': 't' },
        ended: { attributes: { 'messaging.message.id': id } },
      },
      {
        name: 'send q',
        kind: 'producer',
        attributes: { ...common, 'messaging.batch.message_count': 3 },
        ended: {},
      },
    ]);
  });

  test.each(['grown', 'emptied'] as const)(
    'counts the given tasks, also when the list is %s meanwhile',
    async (change) => {
      const { queue, telemetry } = set();
      const tasks = [
        { name: 't', payload: 1 },
        { name: 't', payload: 2 },
      ];
      const storing = queue.enqueueMany(tasks);
      if (change === 'grown') tasks.push({ name: 'u', payload: 3 });
      else tasks.length = 0;
      expect(await storing).toHaveLength(2);
      expect(telemetry.counted).toEqual([
        { name: 'mortise.queues.enqueued', value: 2, attributes: ATTRIBUTES },
      ]);
    },
  );

  test('puts the trace context into the headers, beside those of the caller; a trace of its own stays', async () => {
    const { queue, telemetry } = set();
    const first = await queue.enqueue('t', 1, { headers: { tenant: '7' } });
    const own = { traceparent: `00-${'b'.repeat(32)}-${'c'.repeat(16)}-00` };
    const second = await queue.enqueue('t', 1, { headers: own });
    expect((await queue.get(first.id))?.headers).toEqual({
      tenant: '7',
      traceparent: telemetry.spans[0]!.traceparent,
      tracestate: 'vendor=1',
    });
    expect((await queue.get(second.id))?.headers).toEqual(own);
    const silent = new Queue(redis, 'q', { prefix: freshPrefix(), telemetry: {} });
    const { id } = await silent.enqueue('t', 1);
    expect((await silent.get(id))?.headers).toEqual({});
  });

  test('headers without room for it are stored as they are', async () => {
    const { queue, telemetry } = set();
    const headers = { own: 'x'.repeat(16_384 - '{"own":""}'.length) };
    const { id } = await queue.enqueue('t', 1, { headers });
    expect((await queue.get(id))?.headers).toEqual(headers);
    expect(telemetry.totals).toEqual({ enqueued: 1 });
  });

  test('of a flow, every task carries it', async () => {
    const { queue, telemetry } = set();
    const { id, children } = await queue.enqueueFlow({
      name: 't',
      payload: 1,
      children: [
        { name: 'u', payload: 1 },
        { name: 'u', payload: 2 },
      ],
    });
    const headers = await Promise.all(
      [id, ...children.map((child) => child.id)].map(async (one) => (await queue.get(one))?.headers),
    );
    const { traceparent } = telemetry.spans[0]!;
    expect(headers.map((one) => one?.['traceparent'])).toEqual([traceparent, traceparent, traceparent]);
    expect(telemetry.totals).toEqual({ enqueued: 3 });
    expect(telemetry.spans[0]!.attributes).toMatchObject({ 'messaging.batch.message_count': 3 });
  });

  test('ends the span with the rejection; wrong options are refused as without telemetry', async () => {
    const { queue, telemetry } = set();
    await expect(queue.enqueue('t', 1n)).rejects.toMatchObject({ code: 'ERR_INVALID_PAYLOAD' });
    await expect(queue.enqueue('t', 1, null as never)).rejects.toThrow(TypeError);
    await expect(queue.enqueue('t', 1, { headers: null as never })).rejects.toThrow(TypeError);
    await expect(queue.enqueue('t', 1, { headers: ['a'] as never })).rejects.toThrow(TypeError);
    expect(telemetry.spans[0]!.ended).toMatchObject({ error: { code: 'ERR_INVALID_PAYLOAD' } });
    expect(telemetry.spans.map(({ ended }) => ended !== undefined)).toEqual([true, true, true, true]);
    expect(telemetry.counted).toEqual([]);
  });
});

describe('a worker', () => {
  test('runs the handler inside a span that links to the span of the enqueue', async () => {
    const { queue, telemetry, work } = set();
    const present: unknown[] = [];
    await work({
      t: async () => {
        await new Promise(setImmediate);
        present.push(telemetry.present.getStore());
      },
    });
    const { id } = await queue.enqueue('t', 1);
    await until('the end', () => telemetry.totals['succeeded'] === 1);
    const [send, process] = telemetry.spans;
    expect(process).toMatchObject({
      name: 'process q',
      kind: 'consumer',
      links: [{ traceparent: send!.traceparent, tracestate: 'vendor=1' }],
      attributes: {
        'messaging.system': 'mortise',
        'messaging.destination.name': 'q',
        'messaging.operation.name': 'process',
        'messaging.operation.type': 'process',
        'messaging.message.id': id,
        'mortise.task.name': 't',
        'mortise.task.attempt': 1,
      },
      ended: { attributes: { 'mortise.outcome': 'succeeded' } },
    });
    expect(process!.parent).toBeUndefined();
    expect(present).toEqual([process]);
  });

  test("firstAttempt: 'parent' continues the trace in the first attempt, and links later ones", async () => {
    const { queue, telemetry, work } = set(new Recording('parent'));
    await work({
      t: (_: unknown, { attempt }: TaskContext) => {
        if (attempt === 1) throw new Error('not yet');
      },
    });
    await queue.enqueue('t', 1);
    await until('the end', () => telemetry.totals['succeeded'] === 1);
    const [send, first, second] = telemetry.spans;
    const origin = { traceparent: send!.traceparent, tracestate: 'vendor=1' };
    expect([first!.parent, first!.links]).toEqual([origin, [origin]]);
    expect([second!.parent, second!.links]).toEqual([undefined, [origin]]);
    expect(first!.ended).toMatchObject({ error: { message: 'not yet' } });
    expect(second!.ended!.error).toBeUndefined();
  });

  test('counts how attempts end', async () => {
    const { queue, telemetry, work } = set();
    const handlers = {
      succeed: () => 1,
      fail: (_: unknown, { attempt }: TaskContext) => {
        if (attempt < 3) throw new Error('not yet');
      },
      discard: () => {
        throw new Discard('hopeless');
      },
      later: (_: unknown, { headers }: TaskContext) => {
        if (!('done' in headers)) throw new RetryLater({ delayMs: 60_000 });
      },
      slow: () => new Promise(() => undefined),
    };
    await work(handlers, { unknownAfterMs: 0, onError: () => undefined });
    for (const name of ['succeed', 'fail', 'discard', 'later', 'unknown']) await queue.enqueue(name, null);
    await queue.enqueue('slow', null, { timeoutMs: 1, attempts: 1 });
    await until('the end', () => telemetry.recorded.filter(({ name }) => name.endsWith('run')).length === 8);
    expect(telemetry.totals).toMatchObject({ enqueued: 6, succeeded: 2, failed: 5, retried: 3, dead: 3 });
    expect(await queue.counts()).toMatchObject({ succeeded: 2, dead: 3, retrying: 1 });
    const outcomes = telemetry.recorded
      .filter(({ name }) => name === 'mortise.queues.run')
      .map(({ attributes }) => `${attributes['mortise.task.name']} ${attributes['mortise.outcome']}`);
    expect(outcomes.toSorted()).toEqual([
      '_unknown dead',
      'discard dead',
      'fail failed',
      'fail failed',
      'fail succeeded',
      'later later',
      'slow dead',
      'succeed succeeded',
    ]);
    expect(telemetry.spans.every(({ ended }) => ended !== undefined)).toBe(true);
  });

  test('measures how long tasks waited and ran, in seconds', async () => {
    const { queue, telemetry, work } = set();
    // The delay counts from the call on, the wait from when Redis stored the task, which a busy machine does later.
    await queue.enqueue('t', 1, { delayMs: 1_000 });
    await work({ t: () => pause(100) });
    await until('the end', () => telemetry.totals['succeeded'] === 1);
    const [wait, run] = telemetry.recorded;
    expect(wait).toMatchObject({ name: 'mortise.queues.wait', attributes: ATTRIBUTES });
    // In ms, it would be hundreds.
    expect(wait!.value).toBeGreaterThan(0.05);
    expect(wait!.value).toBeLessThan(50);
    expect(run).toMatchObject({
      name: 'mortise.queues.run',
      attributes: { ...ATTRIBUTES, 'mortise.outcome': 'succeeded' },
    });
    expect(run!.value).toBeGreaterThan(0.09);
    expect(run!.value).toBeLessThan(90);
  });

  test('has one span for a batch, with a link to each task, and counts each', async () => {
    const { queue, telemetry, work } = set();
    await queue.enqueue('t', 1);
    await queue.enqueue('t', 2, { attempts: 1 });
    await work({ t: { handleMany: async () => [1, new Error('no')], maxSize: 10 } });
    await until('the end', () => telemetry.totals['dead'] === 1);
    const [first, second, process] = telemetry.spans;
    expect(telemetry.spans).toHaveLength(3);
    expect(process!.links?.map(({ traceparent }) => traceparent)).toEqual([
      first!.traceparent,
      second!.traceparent,
    ]);
    expect(process!.attributes).toMatchObject({ 'messaging.batch.message_count': 2 });
    expect(process!.ended).toMatchObject({ error: { message: 'no' } });
    expect(telemetry.totals).toEqual({ enqueued: 2, wait: 2, run: 2, succeeded: 1, failed: 1, dead: 1 });
  });

  test('reports attempts that were cancelled, given back, or lost their lease', async () => {
    const { queue, keys, telemetry, work } = set();
    const begun: Gate[] = [];
    const waiting = (): Promise<void> => {
      const end = gate();
      begun.push(end);
      return end.passed;
    };
    const worker = await work({ t: waiting }, { onError: () => undefined });
    const [cancelled, lost, returned] = await queue.enqueueMany(
      [1, 2, 3].map((payload) => ({ name: 't', payload })),
    );
    await until('all', () => begun.length === 3);
    await queue.cancel(cancelled!.id);
    const outcomes = (): string[] =>
      telemetry.spans
        .map(({ ended }) => String(ended?.attributes?.['mortise.outcome']))
        .filter((one) => one !== 'undefined');
    await until('the cancellation', () => outcomes().includes('cancelled'));
    // Somebody else has finished it.
    await redis.hset(keys.of.attempts, Buffer.from(lost!.id.replaceAll('-', ''), 'hex'), 'S');
    begun[1]!.open();
    await until('the loss', () => telemetry.totals['lease_lost'] === 1);
    await worker.stop({ graceMs: 0 });
    expect(returned).toBeDefined();
    expect(telemetry.totals).toEqual({
      enqueued: 3,
      wait: 3,
      run: 3,
      cancelled: 1,
      succeeded: 1,
      lease_lost: 1,
    });
    expect(outcomes().toSorted()).toEqual(['cancelled', 'returned', 'succeeded']);
  });

  test('counts a task that has expired before it was begun', async () => {
    const { queue, telemetry, work } = set();
    const { id } = await queue.enqueue('t', 1, { expiresInMs: 1 });
    await until('the time', async () => {
      const [s, us] = await redis.time();
      return s! * 1_000 + us! / 1_000 > (await queue.get(id))!.enqueuedAt + 2;
    });
    await work({ t: () => undefined });
    await until('the end', async () => (await queue.get(id))?.state === 'dead');
    expect(telemetry.totals).toEqual({ enqueued: 1, dead: 1 });
  });
});

test('claims count by queue, and record how long tasks waited', async () => {
  const { queue, prefix, telemetry } = set();
  const claims = new Claims(redis, 'q', { prefix, telemetry });
  await queue.enqueueMany([1, 2, 3, 4].map((payload) => ({ name: 't', payload })));
  const [first, second, third, fourth] = await claims.claim({ limit: 4 });
  await claims.complete(first!.id, first!.lease);
  await claims.fail(second!.id, second!.lease, { error: 'no', delayMs: 60_000 });
  await claims.fail(third!.id, third!.lease, { error: 'no', retry: false });
  await claims.giveBack(fourth!.id, fourth!.lease);
  await expect(claims.complete(first!.id, first!.lease)).rejects.toMatchObject({ code: 'ERR_LEASE_LOST' });
  await claims.stop();
  const { enqueued: _, ...ofClaims } = telemetry.totals;
  expect(ofClaims).toEqual({ wait: 4, succeeded: 1, failed: 2, retried: 1, dead: 1, lease_lost: 1 });
  expect(telemetry.counts).toMatchObject({ 'wait q': 4, 'succeeded q': 1 });
});

describe('telemetry that throws', () => {
  test('harms no task', async () => {
    const defect = (): never => {
      throw new Error('a defect');
    };
    const broken: Telemetry[] = [
      { count: defect, record: defect, span: defect },
      { span: () => ({ run: defect, end: defect }) },
      {
        span: () => ({
          get traceContext() {
            return defect();
          },
          run: (act) => {
            act();
            act();
            return defect();
          },
          end: defect,
        }),
      },
      { span: () => ({ run: () => undefined as never, end: () => undefined }) },
    ];
    const printed: unknown[][] = [];
    const { error } = console;
    console.error = (...args) => void printed.push(args);
    try {
      for (const telemetry of broken) {
        const { queue, work } = newQueue({ telemetry });
        let calls = 0;
        await work({ t: () => (calls += 1) }, { telemetry });
        const { id } = await queue.enqueue('t', 1);
        await until('the end', async () => (await queue.get(id))?.state === 'succeeded');
        expect([calls, (await queue.get(id))?.result]).toEqual([1, 1]);
      }
    } finally {
      console.error = error;
    }
    // Once for each queue and worker.
    expect(printed).toHaveLength(6);
    expect(printed[0]).toEqual(['mortise: telemetry threw', new Error('a defect')]);
  });

  test('a value that is no telemetry is refused at construction', () => {
    expect(() => new Queue(redis, 'q', { telemetry: 7 as never })).toThrow(
      new TypeError('telemetry must be an object, got number'),
    );
    expect(() => new Worker(redis, ['q'], { t: () => 1 }, { telemetry: null as never })).toThrow(TypeError);
  });
});

test('the reference lists the metrics with their units', () => {
  const page = '../../docs/queues/reference/metrics.md';
  expect(listedMetrics(join(import.meta.dirname, '..'), page)).toEqual(namesAndUnits(METRICS));
});
