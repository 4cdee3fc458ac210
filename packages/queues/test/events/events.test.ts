import { describe, expect, test } from '@jest/globals';
import { Discard, Queue } from '@mortise/queues';
import type { EventsOptions, QueueEvent } from '@mortise/queues';
import { connect } from '@mortise/test-kit';
import { QueueKeys } from '../../src/keys.js';
import { eventsRead } from '../../src/scripts.gen.js';
import { watched } from '../fixture/commands-of.js';
import * as faults from '../fixture/faults.js';
import { heldRechecks } from '../fixture/paused-timers.js';
import { newQueue, redis } from '../fixture/new-queue.js';
import type { Tasks } from '../fixture/launch.js';
import { reached, until } from '../fixture/until.js';

/** Reads until the condition holds; what was read is there before. */
async function read(
  queue: Queue<Tasks>,
  options: EventsOptions,
  isEnough: (events: QueueEvent[]) => boolean,
): Promise<QueueEvent[]> {
  const events: QueueEvent[] = [];
  for await (const event of queue.events(options)) {
    events.push(event);
    if (isEnough(events)) break;
  }
  return events;
}

async function newest(queue: Queue<Tasks>): Promise<QueueEvent> {
  await queue.enqueue('t', 1);
  return (await read(queue, { after: 'oldest' }, () => true))[0]!;
}

const short = ({ type, id, name, attempt, error }: QueueEvent): string =>
  [type, id, name, attempt, error?.message].filter((part) => part !== undefined).join(' ');

const ofType = (type: string) => (events: QueueEvent[]) => events.some((event) => event.type === type);

describe('events', () => {
  test('yields progress and pauses; keepEvents: 0 removes the stream', async () => {
    const { queue, keys, work } = newQueue();
    await queue.configure({ keepEvents: 100 });
    await queue.pause();
    await queue.pause();
    await queue.enqueue('t', 1, { id: 'a' });
    await queue.resume();
    await work({ t: (_, { progress }) => progress({ percent: 50 }) });
    const events = await read(queue, { after: 'oldest' }, ofType('succeeded'));
    expect(events.map(({ type }) => type)).toEqual([
      'paused',
      'enqueued',
      'resumed',
      'started',
      'progress',
      'succeeded',
    ]);
    expect(events[0]).not.toHaveProperty('id');
    expect(events[4]).toMatchObject({ id: 'a', progress: { percent: 50 } });
    await queue.configure({ keepEvents: 0 });
    expect(await redis.exists(keys.of.events)).toBe(0);
  });

  test('yields the events of tasks, in order', async () => {
    const { queue, work } = newQueue();
    await queue.configure({ keepEvents: 100 });
    const backoff = { type: 'fixed', delayMs: 0 } as const;
    await queue.enqueue('flaky', 1, { id: 'a', backoff, group: 'g', attempts: 2 });
    await work(
      {
        flaky: (_, { attempt }) => (attempt === 1 ? Promise.reject(new Error('busy')) : { attempt }),
        hopeless: () => Promise.reject(new Discard('no such address')),
      },
      { concurrency: 1 },
    );
    await reached(queue, 'a', 'succeeded');
    await queue.enqueue('hopeless', 2, { id: 'b' });
    await reached(queue, 'b', 'dead');
    await queue.enqueue('flaky', 3, { id: 'c', delayMs: 60_000, dedupMs: 1_000 });
    await queue.cancel('c', { reason: 'sold elsewhere' });
    await queue.remove('c');
    const events = await read(queue, { after: 'oldest' }, ofType('removed'));
    expect(events.map(short)).toEqual([
      'enqueued a flaky',
      'started a 1',
      'retrying a 1 busy',
      'started a 2',
      'succeeded a 2',
      'enqueued b hopeless',
      'started b 1',
      'dead b 1 no such address',
      'enqueued c flaky',
      'cancelled c sold elsewhere',
      'removed c',
    ]);
    const [{ at }] = events as [QueueEvent];
    expect(Math.abs(at - Date.now())).toBeLessThan(60_000);
    expect(events.map((event) => event.at)).toEqual(
      events.map((event) => event.at).toSorted((a, b) => a - b),
    );
  });

  test('begins with the events after the first next, and switches events on', async () => {
    const { queue } = newQueue();
    await queue.enqueue('t', 1, { id: 'before' });
    const events = queue.events();
    const first = events.next();
    // Nothing else tells that it has begun.
    const other = queue.events()[Symbol.asyncIterator]();
    const second = other.next();
    await until(async () => {
      await queue.enqueue('t', 1);
      return Promise.race([first.then(() => true), new Promise((resolve) => setImmediate(resolve, false))]);
    });
    expect((await first).value).toMatchObject({ type: 'enqueued', name: 't' });
    expect((await first).value!.id).not.toBe('before');
    expect((await second).value).toMatchObject({ type: 'enqueued' });
    await events.return();
    await other.return();
  });

  test('begins after the cursor of an instant, however late it is called', async () => {
    const { queue } = newQueue({ shards: 2 });
    await queue.enqueue('t', 1, { id: 'before' });
    const after = await queue.eventsCursor();
    for (let n = 0; n < 10; n += 1) await queue.enqueue('t', n, { id: `after${n}` });
    const events = await read(queue, { after }, ({ length }) => length === 10);
    expect(new Set(events.map(({ id }) => id))).toEqual(
      new Set(Array.from({ length: 10 }, (_, n) => `after${n}`)),
    );
    expect((await queue.eventsCursor()).split('-').length).toBe(2);
  });

  test('begins with the oldest event, also when that happens while it looks for it', async () => {
    const { queue, prefix } = newQueue();
    await queue.configure({ keepEvents: 10 });
    const client = connect();
    const call = client.callBuffer.bind(client) as (command: string, args: string[]) => Promise<unknown>;
    let isBetween = true;
    const intercepted = async (command: string, args: string[]): Promise<unknown> => {
      const reply = await call(command, args);
      if (isBetween && args[0] === eventsRead.sha1) {
        isBetween = false;
        await queue.enqueue('t', 1, { id: 'between' });
      }
      return reply;
    };
    client.callBuffer = intercepted as typeof client.callBuffer;
    await eventsRead.runBuffer(
      redis,
      { events: new QueueKeys('none', prefix).of.events },
      { after: 0, most: 1 },
    );
    const [first] = await read(new Queue(client, 'q', { prefix }), { after: 'oldest' }, () => true);
    expect(first).toMatchObject({ type: 'enqueued', id: 'between' });
    expect(isBetween).toBe(false);
  });

  test('continues exactly after a cursor, at any place in a batch', async () => {
    const { queue } = newQueue();
    await queue.configure({ keepEvents: 1_000 });
    for (let batch = 0; batch < 5; batch += 1) {
      await queue.enqueueMany(
        Array.from({ length: 7 }, (_, index) => ({
          name: 't',
          payload: index,
          options: { id: `${batch}.${index}` },
        })),
      );
    }
    const all = await read(queue, { after: 'oldest' }, (events) => events.length === 35);
    expect(all.map(({ id }) => id)).toEqual(
      Array.from({ length: 35 }, (_, n) => `${Math.floor(n / 7)}.${n % 7}`),
    );
    for (const [index, { cursor }] of all.slice(0, -1).entries()) {
      const rest = await read(queue, { after: cursor }, (events) => events.length === 34 - index);
      expect(rest).toEqual(all.slice(index + 1));
    }
  });

  test('events that were trimmed before they were read are a gap with their number', async () => {
    const { queue, keys } = newQueue();
    await queue.configure({ keepEvents: 10 });
    await queue.enqueue('t', 0, { id: 'first' });
    const [first] = (await read(queue, { after: 'oldest' }, () => true)) as [QueueEvent];
    for (let n = 1; n <= 400; n += 1) await queue.enqueue('t', n, { id: String(n) });
    const kept = await redis.xlen(keys.of.events);
    expect(kept).toBeLessThan(250);
    const [gap, next] = await read(queue, { after: first.cursor }, (events) => events.length === 2);
    expect(gap).toMatchObject({ type: 'gap', missed: 400 - kept });
    expect(next).toMatchObject({ type: 'enqueued', id: String(400 - kept + 1) });
    const [afterGap] = await read(queue, { after: gap!.cursor }, () => true);
    expect(afterGap).toEqual(next);
    const oldest = await read(queue, { after: 'oldest' }, () => true);
    expect(oldest).toEqual([next]);
  });

  test.each(['zzz', 'newest', '$', '-', '', 'x y', 'A', 'zzzzzzzzzzzz', (9e15).toString(36), 5])(
    'the cursor %j is refused',
    (after) => {
      const { queue } = newQueue();
      expect(() => queue.events({ after: after as string })).toThrow(RangeError);
    },
  );

  test('a stream that was lost is a gap, and is read on', async () => {
    const { queue, keys } = newQueue();
    await queue.configure({ keepEvents: 10 });
    await queue.enqueue('t', 0, { id: 'a' });
    const [a] = (await read(queue, { after: 'oldest' }, () => true)) as [QueueEvent];
    await redis.del(keys.of.events);
    await queue.enqueue('t', 0, { id: 'b' });
    const events = await read(queue, { after: a.cursor }, (found) => found.length === 2);
    expect(events.map(({ type, id }) => [type, id])).toEqual([
      ['gap', undefined],
      ['enqueued', 'b'],
    ]);
    // Nobody knows how many there were.
    expect(events[0]).not.toHaveProperty('missed');
    // The number of lost events is also unknown after the stream was trimmed; within the new stream it is known.
    for (let n = 1; n <= 400; n += 1) await queue.enqueue('t', n);
    const [lost] = await read(queue, { after: a.cursor }, () => true);
    const [trimmed] = await read(queue, { after: events[1]!.cursor }, () => true);
    expect(lost!.type).toBe('gap');
    expect(lost).not.toHaveProperty('missed');
    expect(trimmed).toMatchObject({ type: 'gap', missed: 401 - 1 - (await redis.xlen(keys.of.events)) });
    // As after a failover that lost the last events: the new numbers are lower than those that were read.
    const future = (Number.parseInt(a.cursor, 36) + 1e9).toString(36);
    const later = queue.events({ after: future });
    expect((await later.next()).value).toMatchObject({ type: 'gap' });
    const pending = later.next();
    await queue.enqueue('t', 0, { id: 'c' });
    expect((await pending).value).toMatchObject({ type: 'enqueued', id: 'c' });
    await later.return();
  });

  test('many readers see everything, in pages, also with shards', async () => {
    const { queue, prefix, work } = newQueue({ shards: 3 });
    await queue.configure({ keepEvents: 10_000 });
    const other = new Queue<Tasks>(connect(), 'q', { prefix });
    const isAll = (events: QueueEvent[]): boolean =>
      events.filter(({ type }) => type === 'succeeded').length === 1_000;
    const readers = [queue, other].map((one) => read(one, { after: 'oldest' }, isAll));
    await work({ t: () => undefined });
    const tasks = Array.from({ length: 1_000 }, (_, payload) => ({
      name: 't',
      payload,
      options: { id: `task ${payload}` },
    }));
    await queue.enqueueMany(tasks);
    for (const events of await Promise.all(readers)) {
      expect(ofType('gap')(events)).toBe(false);
      expect(events).toHaveLength(3_000);
      const steps = new Map<string, string[]>();
      for (const { id, type } of events) steps.set(id!, [...(steps.get(id!) ?? []), type]);
      expect(steps.size).toBe(1_000);
      for (const ofTask of steps.values()) expect(ofTask).toEqual(['enqueued', 'started', 'succeeded']);
      const half = events[1_500]!;
      const rest = await read(queue, { after: half.cursor }, (found) => found.length === 1_499);
      const key = ({ id, type }: QueueEvent): string => `${id} ${type}`;
      expect(rest.map(key).toSorted()).toEqual(events.slice(1_501).map(key).toSorted());
    }
  });

  test('the signal ends the iteration without an error; a cursor of another number of shards is refused', async () => {
    const { queue } = newQueue();
    const controller = new AbortController();
    const reason = new Error('enough');
    const reading = read(queue, { signal: controller.signal }, () => true);
    controller.abort(reason);
    expect(await reading).toEqual([]);
    const waiting = new AbortController();
    const events = queue.events({ signal: waiting.signal });
    const first = events.next();
    await queue.configure({ keepEvents: 5 });
    waiting.abort(reason);
    expect(await first).toEqual({ done: true, value: undefined });
    const ofTwoShards = `${(await newest(queue)).cursor}-0`;
    await expect(queue.events({ after: ofTwoShards }).next()).rejects.toThrow(RangeError);
  });

  test('the end of an await using block ends the iteration, and a next that waits', async () => {
    const { queue } = newQueue();
    let next;
    {
      await using events = queue.events();
      next = events.next();
      await until(async () => (await queue.settings()).keepEvents > 0);
    }
    expect(await next).toEqual({ done: true, value: undefined });
  });

  describe('without new events', () => {
    const looks = heldRechecks();

    test('an idle reader sends one command every few seconds', async () => {
      const { queue: producer, prefix } = newQueue();
      const { client, sent, quiet } = await watched();
      const queue = new Queue<Tasks>(client, 'q', { prefix });
      await producer.configure({ keepEvents: 10 });
      const events = queue.events();
      const first = events.next();
      await until(() => sent.some(({ what }) => what === 'events.read'));
      await quiet();
      const before = sent.length;
      expect(looks.fire()).toBe(1);
      await quiet();
      expect(sent.slice(before).map(({ what }) => what)).toEqual(['events.read']);
      await producer.enqueue('t', 1, { id: 'a' });
      expect((await first).value).toMatchObject({ id: 'a' });
      await events.return();
    });
  });

  test('a reader whose connection is cut again and again misses nothing', async () => {
    const { queue, proxy } = await faults.newProxied();
    const shaky = faults.queueOn(faults.connectTo(proxy, { maxRetriesPerRequest: null }));
    await queue.configure({ keepEvents: 10_000 });
    const seen: QueueEvent[] = [];
    const reading = (async () => {
      for await (const event of shaky.events({ after: 'oldest' })) {
        seen.push(event);
        if (seen.length === 2_000) return;
      }
    })();
    const cutting = setInterval(() => proxy.cut(), 20);
    try {
      for (let n = 0; n < 200; n += 1) {
        const options = (index: number) => ({ id: `${n}.${index}` });
        await queue.enqueueMany(
          Array.from({ length: 10 }, (_, index) => ({ name: 't', payload: 0, options: options(index) })),
        );
      }
      await until(() => seen.length > 500);
    } finally {
      clearInterval(cutting);
    }
    await reading;
    expect(seen.map(({ id }) => id)).toEqual(
      Array.from({ length: 2_000 }, (_, n) => `${Math.floor(n / 10)}.${n % 10}`),
    );
  });
});
