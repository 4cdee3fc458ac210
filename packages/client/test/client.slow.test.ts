/** The client in a page of Chromium, over a proxy that cuts its connections, while the API is killed and started again. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { Chats } from '@mortise/messaging';
import { Claims, Queue } from '@mortise/queues';
import { connect, until } from '@mortise/test-kit';
import { setTimeout as pause } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type { Page } from 'playwright-core';
import type { TaskView } from '../src/index.js';
import { KEY, Service } from './fixture/service.js';
import type { page as Script } from './fixture/page.js';

declare const mortise: typeof Script;

const redis = connect();
const service = new Service();
let page: Page;

beforeAll(() => service.start(['page']), 120_000);
afterAll(() => service.stop());
beforeEach(async () => {
  page = await service.page('page');
  await open();
});
afterEach(() => page.context().close());

const open = (options: object = {}): Promise<void> =>
  page.evaluate((given) => mortise.open(given), { url: service.url, credential: KEY, ...options });
const follow = (topic: string): Promise<void> => page.evaluate((text) => mortise.follow(text), topic);
const kept = (): Promise<typeof Script.kept> => page.evaluate(() => mortise.kept);
const isOpen = async (): Promise<void> => {
  await page.waitForFunction(() => mortise.state() === 'open');
};
const queueOf = (name: string): Queue => new Queue(redis, name, { prefix: service.prefix });

/** The payload's number of each enqueued task, by the name that it has. */
async function enqueued(): Promise<string[]> {
  return (await kept()).events.filter(({ type }) => type === 'enqueued').map(({ name }) => String(name));
}

/** Follows a queue, which must exist, and returns it. */
async function followed(name: string): Promise<Queue> {
  const queue = queueOf(name);
  await queue.configure({ keepEvents: 10_000 });
  await follow(`queue:${name}`);
  await isOpen();
  return queue;
}

describe('follow', () => {
  test('each event comes once and in order, through cut connections', async () => {
    const queue = await followed('cut');
    const names: string[] = [];
    for (let cut = 1; cut <= 8; cut += 1) {
      await isOpen();
      for (let number = 0; number < 10; number += 1) {
        if (number === 5) service.proxy.cut();
        names.push(`t${cut}.${number}`);
        await queue.enqueue(names.at(-1)!, null);
      }
      await page.waitForFunction(
        (cuts) => mortise.kept.states.filter((state) => state === 'cut').length >= cuts,
        cut,
      );
    }
    await until('all events', async () => (await enqueued()).length >= names.length);
    expect(await enqueued()).toEqual(names);
    expect((await kept()).gaps).toEqual(['start']);
  });

  test('events come while the API was dead, after it has started again', async () => {
    const queue = await followed('killed');
    await queue.enqueue('before', null);
    await until('the event', async () => (await enqueued()).length === 1);
    await service.killApi();
    await page.waitForFunction(() => mortise.state() === 'cut');
    await queue.enqueue('during', null);
    await service.startApi();
    await queue.enqueue('after', null);
    await until('all events', async () => (await enqueued()).length >= 3);
    expect(await enqueued()).toEqual(['before', 'during', 'after']);
    expect((await kept()).gaps).toEqual(['start']);
  });

  test('events that are gone are reported', async () => {
    const queue = await followed('trimmed');
    await queue.enqueue('first', null);
    await until('the event', async () => (await enqueued()).length === 1);
    await service.killApi();
    await queue.configure({ keepEvents: 100 });
    for (let round = 0; round < 10; round += 1)
      await queue.enqueueMany(Array.from({ length: 500 }, () => ({ name: 'many', payload: null })));
    await service.startApi();
    await until('the gap', async () => (await kept()).gaps.length > 1);
    const { gaps, events } = await kept();
    expect(gaps).toEqual(['start', 'gap']);
    expect(events.find(({ type }) => type === 'gap')).toMatchObject({ missed: expect.any(Number) });
  });

  test('a later page continues after the token of an earlier one', async () => {
    const queue = await followed('token');
    await queue.enqueue('first', null);
    await until('the event', async () => (await enqueued()).length === 1);
    const token = await page.evaluate(() => mortise.token());
    await page.context().close();
    await queue.enqueue('between', null);
    page = await service.page('page');
    await open({ after: token });
    await follow('queue:token');
    await follow('queue:killed');
    await until('the event', async () => (await enqueued()).length > 0);
    expect(await enqueued()).toEqual(['between']);
    // Of the other topic, which the token doesn't know.
    await until('the gap', async () => (await kept()).gaps.length > 0);
    expect((await kept()).gaps).toEqual(['start']);
  });

  test('a topic is added and removed without a loss for the others', async () => {
    const queue = await followed('stays');
    for (let round = 0; round < 6; round += 1) {
      await queue.enqueue(`t${round}`, null);
      if (round % 2 === 0) await follow('overview');
      else await page.evaluate(() => mortise.unfollow('overview'));
    }
    await until('all events', async () => (await enqueued()).length >= 6);
    expect(await enqueued()).toEqual(['t0', 't1', 't2', 't3', 't4', 't5']);
    expect((await kept()).states).not.toContain('cut');
  });

  test('a token that the API refuses is given up, and followers learn of it', async () => {
    await queueOf('refused').configure({ keepEvents: 100 });
    await open({ after: 'bm90IGpzb24.queue:refused' });
    await follow('queue:refused');
    await isOpen();
    const { gaps, errors } = await kept();
    expect(gaps).toEqual(['token']);
    expect(errors).toMatchObject([expect.stringMatching(/400 invalid-token/)]);
  });

  test('a refused credential is reported, and asked for again', async () => {
    await queueOf('credential').configure({ keepEvents: 100 });
    await page.evaluate(
      ({ url, key }) => {
        let calls = 0;
        mortise.open({ url, credential: async () => ((calls += 1) === 1 ? 'mk_wrong_0' : key) });
        mortise.follow('queue:credential');
      },
      { url: service.url, key: KEY },
    );
    await isOpen();
    expect((await kept()).errors).toMatchObject([expect.stringMatching(/ProblemError: 401 /)]);
  });

  test('a connection that is silent is opened again', async () => {
    await open({ silenceMs: 300 });
    const queue = await followed('silent');
    await page.waitForFunction(() => mortise.kept.states.filter((state) => state === 'cut').length > 1);
    await isOpen();
    await queue.enqueue('after', null);
    await until('the event', async () => (await enqueued()).length === 1);
    expect((await kept()).gaps).toEqual(['start']);
  });

  test('an 11th topic is refused, and a closed client is silent', async () => {
    const message = await page.evaluate(() => {
      try {
        for (let number = 0; number <= 10; number += 1)
          mortise.follow(mortise.topicOf('lock', `a/${number}`));
      } catch (error) {
        return String(error);
      }
      return undefined;
    });
    expect(message).toBe('RangeError: a client follows up to 10 topics');
    await isOpen();
    await page.evaluate(() => mortise.close());
    expect(await page.evaluate(() => mortise.state())).toBe('closed');
    await pause(50);
    expect((await kept()).states.at(-1)).toBe('closed');
  });
});

const progressOf = (task: TaskView | 'gone' | undefined): unknown =>
  typeof task === 'object' ? task.progress : undefined;
const stateOf = (task: TaskView | 'gone' | undefined): unknown =>
  typeof task === 'object' ? task.state : undefined;

describe('watchTask', () => {
  test('shows the progress and the result, also of changes during an outage', async () => {
    const queue = queueOf('tasks');
    const { id } = await queue.enqueue('work', { step: 0 });
    await page.evaluate((task) => mortise.watch('tasks', task), id);
    await page.waitForFunction(() => mortise.kept.tasks.length > 0);
    const claims = new Claims(redis, 'tasks', { prefix: service.prefix });
    const [claim] = await claims.claim({ limit: 1, waitMs: 5_000 });
    const { lease } = claim!;
    const shown = async () => (await kept()).tasks.at(-1);
    await claims.progress(id, lease, { percent: 50 });
    await until('the progress', async () => isDeepStrictEqual(progressOf(await shown()), { percent: 50 }));
    await claims.progress(id, lease, { text: 'x'.repeat(1_000) });
    await until('large progress', async () => JSON.stringify(progressOf(await shown()))?.length === 1_011);
    await service.killApi();
    await claims.complete(id, lease, { done: true });
    await service.startApi();
    await until('the end', async () => stateOf(await shown()) === 'succeeded');
    expect(await shown()).toMatchObject({ id, result: { done: true } });
    await claims.stop();
  });

  test('learns that a task is gone', async () => {
    await queueOf('gone').configure({ keepEvents: 100 });
    await page.evaluate(() => mortise.watch('gone', '0-1'));
    await page.waitForFunction(() => mortise.kept.tasks.length > 0 || mortise.kept.errors.length > 0);
    expect(await kept()).toMatchObject({ tasks: ['gone'], errors: [] });
  });
});

describe('ChatMember', () => {
  test('posts once through cut connections, follows, acks and types', async () => {
    const chats = new Chats(redis, { prefix: service.prefix });
    await chats.create({ sender: 'frank', chatId: 'garage', members: ['bill'] });
    await follow('member:bill');
    await isOpen();
    const posting = page.evaluate(async () => {
      const frank = mortise.member('frank');
      const ids: number[] = [];
      for (let number = 0; number < 20; number += 1) ids.push(await frank.post('garage', { number }));
      return ids;
    });
    for (let cut = 0; cut < 10; cut += 1) {
      await pause(15);
      service.proxy.cut();
    }
    const ids = await posting;
    expect(new Set(ids).size).toBe(20);
    const messages = async () => (await kept()).events.filter(({ type }) => type === 'message');
    await until('all messages', async () => (await messages()).length >= 20);
    const bodies = (await messages()).map(({ message }) => (message as { body: unknown }).body);
    expect(bodies).toEqual(Array.from({ length: 20 }, (_, number) => ({ number })));
    await page.evaluate(async (upToId) => {
      const bill = mortise.member('bill');
      await bill.ack('garage', upToId);
      await bill.typing('garage');
    }, ids.at(-1)!);
    expect(await chats.pull('bill')).toEqual([]);
  });

  test('a lasting refusal rejects', async () => {
    const refused = page.evaluate(() => mortise.member('frank').post('no-such-chat', 1));
    await expect(refused).rejects.toThrow(/ProblemError: 404 unknown-chat/);
  });
});
