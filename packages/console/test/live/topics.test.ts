/** The stream of events. */
import { afterEach, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { until } from '@mortise/test-kit';

import { Follower } from '../fixture/follower.js';
import type { Served } from '../fixture/serve.js';
import { redis, serve } from '../fixture/serve.js';

let served: Served;
beforeAll(async () => {
  served = await serve();
  await served.queue('mail').enqueue('t', 1);
});

/** A console with one follower: its reads are the time in which another one may read. */
class Reader {
  readonly #follower = new Follower();
  served: Served | undefined;

  async open(): Promise<this> {
    this.served = await serve();
    // The age of a task that waits changes, so each read is an event.
    await this.served.queue('waiting').enqueue('t', 1);
    await this.#follower.open(this.served.url, 'overview');
    await this.#follower.next('overview');
    return this;
  }

  async reads(count: number): Promise<void> {
    const { events } = this.#follower;
    const most = events.length + count;
    await until(`${count} reads`, () => events.length >= most);
  }

  leave(): void {
    this.#follower.leave();
  }
}

/** How many commands of a console were sent since. */
function callsOf({ prefix }: Served): () => number {
  const sent = jest.spyOn(redis, 'sendCommand');
  const before = sent.mock.calls.length;
  return () =>
    sent.mock.calls
      .slice(before)
      .filter(([{ args }]) => args.some((arg) => String(arg).startsWith(`${prefix}:`))).length;
}

afterEach(() => {
  jest.restoreAllMocks();
});

describe('a stream', () => {
  test('continues after an event', async () => {
    const first = await new Follower().open(served.url, 'queue:mail');
    await served.queue('mail').pause();
    const { id } = await first.next('paused');
    first.leave();
    await served.queue('mail').resume();
    const second = await new Follower().open(served.url, 'queue:mail', { 'last-event-id': id });
    await second.next('resumed');
    expect(second.events.map(({ type }) => type)).toEqual(['open', 'resumed']);
    second.leave();
  });

  test('has the progress of an operation, and goes on after its end', async () => {
    const tasks = Array.from({ length: 300 }, (_, n) => ({ name: 't', payload: n }));
    await served.queue('bulk').enqueueMany(tasks);
    const request = { action: 'remove', state: 'ready' };
    const { json } = await served.call('POST', 'queues/bulk/bulk-operations', request);
    const topic = `operation:${json.id}`;
    const follower = await new Follower().open(served.url, `${topic},queue:bulk`);
    await until('the end', () =>
      follower.events.some(({ status, changed }) => status === 'completed' && changed === 300),
    );
    await served.queue('bulk').pause();
    await follower.next('paused');
    follower.leave();
    // It has ended: the value of now is its last one.
    const late = await new Follower().open(served.url, topic);
    expect(await late.next('operation')).toMatchObject({ topic, task: json.id, status: 'completed' });
    late.leave();
  });

  test('of a reader who may change nothing switches no events on', async () => {
    const reader = await serve({ authorize: () => 'read' });
    await reader.queue('silent').enqueue('t', 1, { id: 'one' });
    const keepEvents = async (): Promise<number> => (await reader.queue('silent').settings()).keepEvents;
    const follower = await new Follower().open(reader.url, 'queue:silent,overview');
    await follower.next('off');
    await follower.next('overview');
    follower.leave();
    expect((await reader.call('GET', 'queues/silent/times')).json).toEqual({
      hasEvents: false,
      count: 0,
      wait: null,
      run: null,
    });
    const events = await reader.call('GET', 'queues/silent/tasks/one/events');
    expect([events.json, await keepEvents()]).toEqual([{ hasEvents: false, items: [] }, 0]);
    await reader.queue('silent').lastEvents();
    expect((await reader.call('GET', 'queues/silent/times')).json.hasEvents).toBe(true);
  });

  test('of such a reader goes on when somebody has switched them on', async () => {
    const reader = await serve({ authorize: () => 'read' });
    await reader.queue('woken').enqueue('t', 1);
    const follower = await new Follower().open(reader.url, 'queue:woken');
    await follower.next('off');
    await reader.queue('woken').configure({ keepEvents: 100 });
    await follower.next('reset');
    const { id } = await reader.queue('woken').enqueue('t', 2);
    expect((await follower.next('enqueued')).task).toBe(id);
    expect((await reader.queue('woken').settings()).keepEvents).toBe(100);
    follower.leave();
  });

  test('tells the overview, and its change', async () => {
    const follower = await new Follower().open(served.url, 'overview,queue:mail');
    const { queues } = await follower.next('overview');
    expect(queues).toContainEqual(expect.objectContaining({ name: 'mail' }));
    await served.queue('fresh').enqueue('t', 1);
    await until('the new queue', () =>
      follower.events.some((event) => JSON.stringify(event).includes('"fresh"')),
    );
    follower.leave();
  });

  test.each([
    ['', 400],
    ['locks', 400],
    ['queue:', 400],
    ['queue:%', 400],
    ['overview,overview', 400],
    [Array.from({ length: 11 }, (_, n) => `queue:${n}`).join(','), 400],
    ['queue:none', 404],
    ['operation:none', 404],
    ['operation:', 400],
    ['operation:%', 400],
    ['queue:mail&after=nonsense', 400],
  ])('of %j is refused', async (topics, status) => {
    expect((await served.call('GET', `events?topics=${topics}`)).status).toBe(status);
  });

  test('ends when its client has gone: then nothing is read any more', async () => {
    const own = await serve();
    await own.queue('mail').enqueue('t', 1);
    const follower = await new Follower().open(own.url, 'overview');
    await follower.next('overview');
    follower.leave();
    await own.queue('mail').enqueue('t', 2);
    const other = await new Reader().open();
    const calls = callsOf(own);
    await other.reads(2);
    expect(calls()).toBe(0);
    other.leave();
  });

  test('six followers of the overview share one reader', async () => {
    const own = await serve();
    await own.queue('mail').enqueue('t', 1);
    const followers: Follower[] = [];
    for (let n = 0; n < 6; n += 1) {
      followers.push(await new Follower().open(own.url, 'overview'));
      await followers.at(-1)!.next('overview');
    }
    const other = await new Reader().open();
    const calls = callsOf(own);
    const callsOfOne = callsOf(other.served!);
    await other.reads(2);
    const [ofSix, ofOne] = [calls(), callsOfOne()];
    for (const follower of followers) follower.leave();
    other.leave();
    expect(ofOne).toBeGreaterThan(0);
    // Six readers would send six times as much; the reads of both are at different times.
    expect(ofSix).toBeGreaterThan(0);
    expect(ofSix).toBeLessThan(3 * ofOne);
  });
});
