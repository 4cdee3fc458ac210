/** The commands of each public method: an added round trip shows here. */
import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { runServer, until } from '@mortise/test-kit';
import { Coalescer, WaiterHub, requireClient } from '../src/index.js';
import { connect } from './fixture/clients.js';
import { commandsOf, subscribersOf } from './fixture/observe.js';
import { count, swap } from './fixture/scripts.js';
import { elapse, fakeTimers, TestChannel } from './fixture/waiting-cases.js';

const { server } = await runServer();
beforeEach(async () => {
  await server.command('SCRIPT', 'FLUSH');
});
afterEach(() => {
  jest.useRealTimers();
});

/** The commands that the server counted while `action` ran. */
async function sentBy(action: () => Promise<unknown>): Promise<Record<string, number>> {
  await server.command('CONFIG', 'RESETSTAT');
  await action();
  return commandsOf(server);
}

describe('scripts', () => {
  test('run: EVALSHA; the first time EVAL too', async () => {
    const redis = connect('6', server.url);
    await redis.get('warm');
    const write = () => swap.run(redis, { target: '{x}:t' }, { value: 'v', fields: ['f'] });
    const read = () => count.run(redis, { tags: [] }, { values: [] });
    expect(await sentBy(write)).toEqual({ eval: 1, evalsha: 1, hget: 1, hset: 1 });
    expect(await sentBy(write)).toEqual({ evalsha: 1, hget: 1, hset: 1 });
    expect(await sentBy(read)).toEqual({ eval_ro: 1, evalsha_ro: 1 });
    expect(await sentBy(read)).toEqual({ evalsha_ro: 1 });
  });

  test('a hundred submits in one tick: one EVALSHA for each group', async () => {
    const redis = connect('6', server.url);
    await redis.get('warm');
    const swaps = new Coalescer<string, string, string | null>(
      async (target, fields) =>
        (await swap.run(redis, { target }, { value: 'v', fields })) as (string | null)[],
      { maxBatch: 1_000 },
    );
    await swaps.submit('{x}:t', 'f');
    const fields = Array.from({ length: 100 }, (_, index) => `f${index}`);
    const submit = () =>
      Promise.all(fields.map((field, index) => swaps.submit(index % 2 ? '{x}:t' : '{y}:t', field)));
    expect(await sentBy(submit)).toEqual({ evalsha: 2, hget: 100, hset: 100 });
  });
});

describe('waiting on a single node', () => {
  test('with RESP3: one SUBSCRIBE for a channel, and nothing while it waits', async () => {
    const redis = connect('6', server.url);
    await redis.get('warm');
    const channel = new TestChannel(redis);
    const other = new TestChannel(redis);
    expect(await sentBy(async () => requireClient(redis) && WaiterHub.of(redis))).toEqual({});
    expect(await sentBy(() => channel.waiter('1'))).toEqual({ ping: 1, subscribe: 1 });
    expect(await sentBy(() => Promise.all(['2', '3', '4'].map((id) => channel.waiter(id))))).toEqual({});
    const waiter = await channel.waiter('5');
    fakeTimers();
    const last = await other.waiter('1');
    const idle = async (): Promise<void> => {
      const next = waiter.next({ deadlineAt: performance.now() + 60_000 });
      await jest.advanceTimersByTimeAsync(59_000);
      waiter.close();
      expect(await next).toEqual({ type: 'timeout' });
    };
    expect(await sentBy(idle)).toEqual({});
    const lingering = async (): Promise<void> => {
      last.close();
      await jest.advanceTimersByTimeAsync(30_000);
      await redis.get('after it');
    };
    expect(await sentBy(lingering)).toEqual({ get: 1, unsubscribe: 1 });
  });

  test('with RESP2: a PING each ten seconds on the connection of its own', async () => {
    fakeTimers();
    const redis = connect('5', server.url);
    await redis.get('warm');
    const channel = new TestChannel(redis);
    const waiter = await channel.waiter('1');
    const idle = async (): Promise<void> => {
      for (let time = 0; time < 6; time += 1) {
        await jest.advanceTimersByTimeAsync(10_000);
        // The answer has to be there before the next one is due.
        await until('the PING', async () => (await commandsOf(server))['ping'] === time + 1);
        await redis.get('a round trip');
      }
    };
    expect(await sentBy(idle)).toEqual({ get: 6, ping: 6 });
    const lingering = async (): Promise<void> => {
      waiter.close();
      await elapse(30_000, server);
      await until('the end', async () => (await subscribersOf([server], channel.name)) === 0);
    };
    expect(Object.keys(await sentBy(lingering))).toEqual(['ping']);
  });
});
