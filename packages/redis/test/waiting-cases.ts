/** The promises of waiting: one set of cases, run for each topology and each major of ioredis. */
import { randomUUID } from 'node:crypto';
import { afterEach, describe, expect, jest, test } from '@jest/globals';
import type { RedisServer } from '@mortise/redis-server';
import type { Cluster, Redis } from 'ioredis';
import { until } from '@mortise/test-kit';
import type { EntityKeys, Listener, Waiter, Wake } from '../src/index.js';
import { ArgumentTypeError, KeySpace, UNDELIVERED, WaiterHub } from '../src/index.js';
import { subscribersOf } from './observe.js';
import { publish } from './scripts.js';

export interface Topology {
  /** A new client; closed after the test. */
  readonly connect: () => Redis | Cluster;
  readonly servers: () => RedisServer[];
}

/** A channel for one test. Like a package, it publishes by a script on a key of the entity. */
export class TestChannel {
  readonly keys: EntityKeys = new KeySpace('test').entity(randomUUID());
  readonly name: string = this.keys.key('wake');
  readonly hub: WaiterHub;

  constructor(readonly client: Redis | Cluster) {
    this.hub = WaiterHub.of(client);
  }

  waiter(id: string): Promise<Waiter> {
    return this.hub.waiter(this.name, id);
  }

  listen(listener: Listener): Promise<() => void> {
    return this.hub.listen(this.name, listener);
  }

  /** Replies with the number of connections that were reached. */
  publish(message: string | Buffer, by: Redis | Cluster = this.client): Promise<unknown> {
    const args = { command: this.hub.publishCommand, channel: this.name, message };
    return publish.run(by, { entity: this.keys.key('entity') }, args);
  }
}

/** Records its calls in order: the text of each message, `<resync>` or `<closed>`. */
export class TestListener implements Listener {
  readonly calls: string[] = [];

  onMessage(body: Buffer): void {
    this.calls.push(body.toString());
  }

  onResync(): void {
    this.calls.push('<resync>');
  }

  onClosed(): void {
    this.calls.push('<closed>');
  }
}

/** The wakes of a waiter after an interrupted subscription, without repeated resyncs. */
export const WHOLE_AGAIN = ['resync', 'again'];

/** The first wake of the waiter, and the message `again`, published as soon as it reaches somebody. */
export async function wakesAfterBreak(
  channel: TestChannel,
  waiter: Waiter,
  by: Redis | Cluster,
): Promise<string[]> {
  const next = (): Promise<Wake> => waiter.next({ deadlineAt: performance.now() + 40_000 });
  const first = await next();
  const received = next();
  await until('a message to reach somebody', async () => Number(await channel.publish('*:again', by)) > 0);
  let wake = await received;
  while (wake.type === 'resync') wake = await next();
  return [first.type, wake.type === 'message' ? wake.body.toString() : wake.type];
}

/** Timers only move when the test says so; promises, I/O and the clock go on. */
export function fakeTimers(): void {
  jest.useFakeTimers({
    doNotFake: ['nextTick', 'setImmediate', 'clearImmediate', 'queueMicrotask', 'performance'],
  });
}

/** Moves fake timers, and lets a second's I/O happen in each second. */
export async function elapse(ms: number, server: RedisServer): Promise<void> {
  for (let left = ms; left > 0; left -= 1_000) {
    await jest.advanceTimersByTimeAsync(Math.min(left, 1_000));
    await server.command('INFO', 'server');
  }
}

const message = (text: string): Wake => ({ type: 'message', body: Buffer.from(text) });

export function waitingCases({ connect, servers }: Topology): void {
  afterEach(() => {
    jest.useRealTimers();
  });

  describe('messages', () => {
    test('with an id go to that waiter alone, with * to all of the channel, and to no other channel', async () => {
      const client = connect();
      const channel = new TestChannel(client);
      const other = new TestChannel(client);
      const [one, two, elsewhere] = await Promise.all([
        channel.waiter('1'),
        channel.waiter('2'),
        other.waiter('1'),
      ]);
      await channel.publish('1:for one');
      await channel.publish('*:for both');
      await channel.publish('3:for nobody');
      await channel.publish('no colon');
      await other.publish('1:elsewhere');
      expect([await one.next(), await one.next()]).toEqual([message('for one'), message('for both')]);
      expect(await two.next()).toEqual(message('for both'));
      expect(await elsewhere.next()).toEqual(message('elsewhere'));
      const nothing = await Promise.all(
        [one, two, elsewhere].map((waiter) => waiter.next({ deadlineAt: 0 })),
      );
      expect(nothing.map(({ type }) => type)).toEqual(['timeout', 'timeout', 'timeout']);
    });

    test('for an absent id go with the id to the waiter of undelivered messages, if there is one', async () => {
      const channel = new TestChannel(connect());
      const here = await channel.waiter('here');
      const undelivered = await channel.waiter(UNDELIVERED);
      await channel.publish('gone:1:2');
      await channel.publish('here:3');
      expect(await undelivered.next()).toEqual({ type: 'message', body: Buffer.from('gone:1:2') });
      expect(await here.next()).toEqual({ type: 'message', body: Buffer.from('3') });
    });

    test('may hold any bytes, colons too', async () => {
      const channel = new TestChannel(connect());
      const waiter = await channel.waiter('w');
      const bytes = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));
      await channel.publish(Buffer.concat([Buffer.from('w:'), bytes]));
      await channel.publish('w:');
      expect([await waiter.next(), await waiter.next()]).toEqual([
        { type: 'message', body: bytes },
        message(''),
      ]);
    });

    test('reach a thousand waiters on one channel, over one subscription', async () => {
      const channel = new TestChannel(connect());
      const ids = Array.from({ length: 1_000 }, (_, index) => `w${index}`);
      const waiters = await Promise.all(ids.map((id) => channel.waiter(id)));
      const received = waiters.map(async (waiter) => [await waiter.next(), await waiter.next()]);
      expect(await subscribersOf(servers(), channel.name)).toBe(1);
      await Promise.all(ids.map((id) => channel.publish(`${id}:hello ${id}`)));
      await channel.publish('*:bye');
      expect(await Promise.all(received)).toEqual(ids.map((id) => [message(`hello ${id}`), message('bye')]));
    });

    test('come while other commands use the client', async () => {
      const client = connect();
      const channel = new TestChannel(client);
      const waiter = await channel.waiter('w');
      const key = channel.keys.key('count');
      const counts = Array.from({ length: 100 }, async (_, index) => {
        if (index % 10 === 0) await channel.publish(`w:${index}`);
        return client.incr(key);
      });
      expect((await Promise.all(counts)).toSorted((a, b) => a - b)).toEqual(
        counts.map((_, index) => index + 1),
      );
      const wakes = await Promise.all(Array.from({ length: 10 }, async () => (await waiter.next()).type));
      expect(wakes).toEqual(Array.from({ length: 10 }, () => 'message'));
      await client.del(key);
    });
  });

  describe('waiter', () => {
    test('sees messages published after it resolved, also before next', async () => {
      for (let round = 0; round < 20; round += 1) {
        const channel = new TestChannel(connect());
        const waiter = await channel.waiter('w');
        expect(await channel.publish('w:early')).toBe(1);
        expect(await waiter.next()).toEqual(message('early'));
      }
    });

    test('for many channels, asked for while the first one connects, disturbs none of them', async () => {
      const client = connect();
      const waiting: Promise<Waiter>[] = [];
      for (let turn = 0; turn < 200; turn += 1) {
        waiting.push(new TestChannel(client).waiter('w'));
        await new Promise(setImmediate);
      }
      const waiters = await Promise.all(waiting);
      const wakes = await Promise.all(
        waiters.map((waiter) => waiter.next({ deadlineAt: performance.now() + 100 })),
      );
      expect(wakes.filter(({ type }) => type !== 'timeout')).toEqual([]);
    });

    test('refuses an id that is taken, until that waiter is closed', async () => {
      const channel = new TestChannel(connect());
      const [first, second] = await Promise.allSettled([channel.waiter('w'), channel.waiter('w')]);
      expect(second).toEqual({
        status: 'rejected',
        reason: new ArgumentTypeError(`waiter w is already on channel ${channel.name}`),
      });
      expect(first.status).toBe('fulfilled');
      if (first.status === 'fulfilled') first.value.close();
      await expect(channel.waiter('w')).resolves.toMatchObject({ id: 'w' });
    });

    test.each([[''], ['*'], ['a:b']])('refuses the id %j', async (id) => {
      const channel = new TestChannel(connect());
      await expect(channel.waiter(id)).rejects.toMatchObject({
        code: 'ERR_INVALID_ARG',
        message: `a waiter's id must not be empty, "*" or contain ":", got ${JSON.stringify(id)}`,
      });
    });
  });

  describe('listen', () => {
    test('receives each message for all in order from its resolution on, and none for a waiter', async () => {
      const channel = new TestChannel(connect());
      const listeners = [new TestListener(), new TestListener()];
      const [stop] = await Promise.all(listeners.map((listener) => channel.listen(listener)));
      const waiter = await channel.waiter('w');
      const texts = Array.from({ length: 100 }, (_, index) => `m${index}`);
      for (const text of texts) await channel.publish(`*:${text}`);
      await channel.publish('w:for the waiter');
      await channel.publish('nobody:at all');
      await until('the last message', () => listeners.every(({ calls }) => calls.length === 100));
      expect(listeners.map(({ calls }) => calls)).toEqual([texts, texts]);
      expect(await waiter.next()).toEqual(message('m0'));
      stop!();
      stop!();
      expect(await channel.publish('*:more')).toBe(1);
      await until('one more', () => listeners[1]!.calls.length === 101);
      expect(listeners[0]!.calls).toEqual(texts);
    });

    test('shares the subscription with waiters, which ends 30 s after the last of both', async () => {
      const channel = new TestChannel(connect());
      // Keeps the connection.
      await new TestChannel(channel.client).waiter('w');
      const waiter = await channel.waiter('w');
      const stop = await channel.listen(new TestListener());
      const server = servers()[0]!;
      fakeTimers();
      waiter.close();
      await elapse(60_000, server);
      expect(await subscribersOf(servers(), channel.name)).toBe(1);
      stop();
      await elapse(29_999, server);
      expect(await subscribersOf(servers(), channel.name)).toBe(1);
      jest.advanceTimersByTime(1);
      await until('its end', async () => (await subscribersOf(servers(), channel.name)) === 0);
    });

    test('refuses a listener that is there, until it is stopped', async () => {
      const channel = new TestChannel(connect());
      const listener = new TestListener();
      const stop = await channel.listen(listener);
      await expect(channel.listen(listener)).rejects.toMatchObject({
        code: 'ERR_INVALID_ARG',
        message: `the listener is already on channel ${channel.name}`,
      });
      stop();
      await channel.listen(listener);
      await channel.publish('*:once');
      await until('the message', () => listener.calls.length > 0);
      expect(listener.calls).toEqual(['once']);
    });

    test('a closed client calls it once, and takes no more listeners', async () => {
      const client = connect();
      const channel = new TestChannel(client);
      const listener = new TestListener();
      await channel.listen(listener);
      const lateListener = new TestListener();
      const late = new TestChannel(client)
        .listen(lateListener)
        .catch(({ code }) => lateListener.calls.push(code));
      client.disconnect();
      await late;
      await until('the end', () => listener.calls.length > 0 && lateListener.calls.length > 0);
      expect(lateListener.calls.join()).toMatch(/^(<closed>)?,?(ERR_CLIENT_CLOSED)?$/);
      await expect(channel.listen(listener)).rejects.toMatchObject({ code: 'ERR_CLIENT_CLOSED' });
      expect(listener.calls).toEqual(['<closed>']);
    });
  });

  describe('close', () => {
    test('leaves the other waiters of the channel alone', async () => {
      const channel = new TestChannel(connect());
      const [gone, stays] = await Promise.all([channel.waiter('gone'), channel.waiter('stays')]);
      gone.close();
      await channel.publish('*:who is there?');
      expect(await stays.next()).toEqual(message('who is there?'));
      await expect(gone.next()).rejects.toThrow('the waiter is closed');
    });

    test('of the last waiter keeps the subscription for 30 s, for the next one, then ends it', async () => {
      const channel = new TestChannel(connect());
      const other = new TestChannel(channel.client);
      const stays = await other.waiter('w');
      const first = await channel.waiter('w');
      const server = servers()[0]!;
      fakeTimers();
      first.close();
      await elapse(29_000, server);
      const second = await channel.waiter('w');
      await elapse(60_000, server);
      expect(await channel.publish('w:still here')).toBe(1);
      expect(await second.next()).toEqual(message('still here'));
      second.close();
      await elapse(29_999, server);
      expect(await subscribersOf(servers(), channel.name)).toBe(1);
      jest.advanceTimersByTime(1);
      await until(
        'the subscription to end',
        async () => (await subscribersOf(servers(), channel.name)) === 0,
      );
      const third = await channel.waiter('w');
      expect(await channel.publish('w:back')).toBe(1);
      expect(await third.next()).toEqual(message('back'));
      expect(await other.publish('w:untouched')).toBe(1);
      expect(await stays.next()).toEqual(message('untouched'));
    });
  });

  describe('a client that is closed', () => {
    test.each(['quit', 'disconnect'] as const)(
      'by %s ends every wait with ERR_CLIENT_CLOSED',
      async (method) => {
        const client = connect();
        const channel = new TestChannel(client);
        const waiters = await Promise.all(['1', '2', '3'].map((id) => channel.waiter(id)));
        const waits = waiters.map((waiter) => waiter.next());
        const other = new TestChannel(client);
        const late = other.waiter('late').then((waiter) => waiter.next());
        const closing = Promise.allSettled([...waits, late]);
        await client[method]();
        const closed = { status: 'rejected', reason: { code: 'ERR_CLIENT_CLOSED' } };
        expect(await closing).toMatchObject([closed, closed, closed, closed]);
        await expect(channel.waiter('4')).rejects.toMatchObject({ code: 'ERR_CLIENT_CLOSED' });
        for (const waiter of waiters) waiter.close();
        await until(
          'its connections to go',
          async () => (await subscribersOf(servers(), channel.name)) === 0,
        );
      },
    );

    test('and connected again can be waited on again', async () => {
      const client = connect();
      const channel = new TestChannel(client);
      await channel.waiter('w');
      const isOver = new Promise((resolve) => client.once('end', resolve));
      client.disconnect();
      await isOver;
      await client.connect();
      const waiter = await channel.waiter('w');
      const next = waiter.next();
      expect(await channel.publish('w:again')).toBe(1);
      expect(await next).toEqual(message('again'));
      await channel.publish('w:once');
      expect([await waiter.next(), await waiter.next({ deadlineAt: 0 })]).toEqual([
        message('once'),
        { type: 'timeout' },
      ]);
    });
  });
}
