/**
 * A member who comes, goes and acks while their follower is cut off, ended and resumed at random. Messages from the time in which
 * they were away are never delivered, later ones once and in order. Another member keeps all of them stored.
 */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Chats } from '@mortise/messaging';
import type { RedisClient } from '@mortise/redis';
import type { RedisCluster, RedisServer, TcpProxy } from '@mortise/redis-server';
import { startCluster, startProxy, startSingle } from '@mortise/redis-server';
import { disconnect, freshPrefix } from '@mortise/test-kit';
import * as fc from 'fast-check';
import { Cluster, Redis } from 'ioredis';
import { Reader } from '../fixture/follow-reader.js';

const CHATS = ['a', 'b'];
const action = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ type: fc.constant('post' as const), count: fc.constantFrom(1, 3, 90) }),
  },
  { weight: 4, arbitrary: fc.record({ type: fc.constantFrom('leave' as const, 'join' as const) }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('ack' as const), back: fc.nat(4) }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('own' as const) }) },
  { weight: 3, arbitrary: fc.record({ type: fc.constantFrom('cut' as const, 'restore' as const) }) },
  { weight: 3, arbitrary: fc.record({ type: fc.constantFrom('hold' as const, 'release' as const) }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('resume' as const) }) },
);
const steps = fc.array(fc.tuple(fc.constantFrom(...CHATS), action), { minLength: 5, maxLength: 40 });
type Step = [string, typeof action extends fc.Arbitrary<infer Value> ? Value : never];

interface Timeline {
  cut(): Promise<unknown> | void;
  restore(): Promise<unknown> | void;
}

/** The knowledge of bob in one chat. */
class Known {
  lastId = 0;
  ackedId = 0;
  /** The id behind which he came; undefined while he is away. */
  joinedId: number | undefined = 0;
  /** The messages that were posted while he was a member. */
  readonly own = new Set<number>();
  readonly delivered: number[] = [];

  posted(id: number): void {
    this.lastId = id;
    if (this.joinedId !== undefined) this.own.add(id);
  }
}

class World {
  readonly #prefix = freshPrefix();
  readonly #chats: Chats;
  readonly #followed: Chats;
  readonly #line: Timeline;
  readonly #known = new Map(CHATS.map((chatId) => [chatId, new Known()]));
  readonly #others: string[] = [];
  #token: string | undefined;
  #reader!: Reader;

  constructor(redis: RedisClient, followed: RedisClient, line: Timeline) {
    this.#chats = new Chats(redis, { prefix: this.#prefix });
    this.#followed = new Chats(followed, { prefix: this.#prefix });
    this.#line = line;
  }

  async live(life: readonly Step[]): Promise<void> {
    for (const chatId of CHATS) {
      await this.#chats.create({ chatId, sender: 'anna', members: ['bob', 'carl'] });
    }
    this.#follow();
    try {
      for (const step of life) await this.#take(step);
      this.#reader.release();
      await this.#line.restore();
      for (const chatId of CHATS) await this.#finish(chatId);
      for (const chatId of CHATS) this.#compare(chatId);
    } finally {
      await this.#line.restore();
      await this.#reader.stop();
    }
  }

  #follow(): void {
    const after = this.#token;
    this.#reader = new Reader(this.#followed, 'bob', after === undefined ? {} : { after }, (event) => {
      this.#token = event.token;
      if (event.type === 'message') this.#known.get(event.chatId)!.delivered.push(event.message.id);
      if (event.type === 'gap' || event.type === 'reset' || event.type === 'ended') {
        this.#others.push(`${event.chatId} ${event.type}`);
      }
    });
  }

  async #take([chatId, step]: Step): Promise<void> {
    const known = this.#known.get(chatId)!;
    const isIn = known.joinedId !== undefined;
    switch (step.type) {
      case 'post': {
        const posts = Array.from({ length: step.count }, (_, n) => this.#chats.post(chatId, 'anna', n));
        for (const { id } of await Promise.all(posts)) known.posted(id);
        break;
      }
      case 'own':
        if (!isIn) break;
        // At the tip it is acked with that.
        if (known.ackedId === known.lastId) known.ackedId += 1;
        known.posted((await this.#chats.post(chatId, 'bob', 'own')).id);
        break;
      case 'ack':
        if (!isIn) break;
        known.ackedId = await this.#chats.ack(chatId, 'bob', Math.max(0, known.lastId - step.back));
        break;
      case 'leave':
        await this.#chats.leave(chatId, 'bob');
        known.joinedId = undefined;
        break;
      case 'join': {
        const { isNew, ackedId } = await this.#chats.join(chatId, 'bob');
        expect(isNew).toBe(!isIn);
        if (isNew) known.joinedId = known.ackedId = ackedId;
        break;
      }
      case 'cut':
        await this.#line.cut();
        break;
      case 'restore':
        await this.#line.restore();
        break;
      case 'hold':
        this.#reader.hold();
        break;
      case 'release':
        this.#reader.release();
        break;
      case 'resume':
        await this.#reader.stop();
        this.#follow();
    }
  }

  /** In the end he is a member, and gets later messages. */
  async #finish(chatId: string): Promise<void> {
    const known = this.#known.get(chatId)!;
    await this.#take([chatId, { type: 'join' }]);
    await this.#take([chatId, { type: 'post', count: 1 }]);
    await this.#reader.hasText(`${chatId}:${known.lastId}`);
  }

  #compare(chatId: string): void {
    const { own, delivered, joinedId, ackedId, lastId } = this.#known.get(chatId)!;
    expect({ chatId, foreign: delivered.filter((id) => !own.has(id)) }).toEqual({ chatId, foreign: [] });
    expect({ chatId, delivered }).toEqual({
      chatId,
      delivered: [...new Set(delivered)].toSorted((a, b) => a - b),
    });
    // He may have got elsewhere the messages that he acked himself.
    const lost = [...own].filter((id) => id > Math.max(joinedId!, ackedId) && !delivered.includes(id));
    expect({ chatId, lost, lastId }).toEqual({ chatId, lost: [], lastId });
    expect(this.#others).toEqual([]);
  }
}

let server: RedisServer;
let servers: RedisCluster;
let proxy: TcpProxy;
const clients: (Redis | Cluster)[] = [];

beforeAll(async () => {
  [server, servers] = await Promise.all([startSingle(), startCluster()]);
  proxy = await startProxy(server);
  for (const url of [server.url, proxy.url]) {
    clients.push(new Redis(url, { retryStrategy: () => 10, maxRetriesPerRequest: null }));
  }
  for (let count = 0; count < 2; count += 1) clients.push(new Cluster(servers.startupNodes));
  for (const client of clients) client.on('error', () => undefined);
});
afterAll(async () => {
  for (const client of clients) disconnect(client);
  await proxy.stop();
  await Promise.all([server.stop(), servers.stop()]);
});

describe('a member who comes and goes gets their messages, and no others', () => {
  test('on a single node, with outages', async () => {
    const line = { cut: () => proxy.refuse(), restore: () => proxy.restore() };
    const property = fc.asyncProperty(steps, async (life) =>
      new World(clients[0]!, clients[1]!, line).live(life),
    );
    await fc.assert(property, { numRuns: 40, endOnFailure: true });
    expect(clients.map(({ status }) => status)).toEqual(clients.map(() => 'ready'));
  }, 120_000);

  test('on Cluster, with subscriptions that are killed', async () => {
    const kill = (): Promise<unknown> =>
      Promise.all(servers.nodes.map((node) => node.command('CLIENT', 'KILL', 'TYPE', 'pubsub')));
    const line = { cut: kill, restore: () => undefined };
    const property = fc.asyncProperty(steps, async (life) =>
      new World(clients[2]!, clients[3]!, line).live(life),
    );
    await fc.assert(property, { numRuns: 15, endOnFailure: true });
    expect(clients.map(({ status }) => status)).toEqual(clients.map(() => 'ready'));
  }, 120_000);
});
