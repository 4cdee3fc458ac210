/** Pulls with any bound, of any chats: what they return, and what Redis may have sent for it. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Chats } from '@mortise/messaging';
import type { Pulled } from '@mortise/messaging';
import type { RedisCluster } from '@mortise/redis-server';
import { startCluster } from '@mortise/redis-server';
import { connect, disconnect, freshPrefix } from '@mortise/test-kit';
import * as fc from 'fast-check';
import { Cluster } from 'ioredis';
import type { Redis } from 'ioredis';

const NAMES = ['a', 'b', 'c', 'd', 'e'];
/** More than any reply has room for. */
const ALL = 2 ** 20;

type Step =
  | { readonly do: 'post'; readonly chat: number; readonly sizes: readonly number[] }
  | { readonly do: 'delete'; readonly chat: number; readonly back: number }
  | { readonly do: 'pull'; readonly maxBytes: number; readonly limit: number; readonly acked: number }
  | { readonly do: 'ackOther'; readonly chat: number }
  /** Everything is read, and then nothing is new so often that only logs are asked for. */
  | { readonly do: 'rest' };

const place = fc.nat(NAMES.length - 1);
const bytes = fc.oneof(
  { weight: 4, arbitrary: fc.integer({ min: 2, max: 200 }) },
  { weight: 2, arbitrary: fc.integer({ min: 200, max: 3_000 }) },
  { weight: 1, arbitrary: fc.integer({ min: 3_000, max: 20_000 }) },
);
const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    {
      weight: 4,
      arbitrary: fc.record({
        do: fc.constant('post' as const),
        chat: place,
        sizes: fc.array(bytes, { minLength: 1, maxLength: 12 }),
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({ do: fc.constant('delete' as const), chat: place, back: fc.nat(3) }),
    },
    {
      weight: 4,
      arbitrary: fc.record({
        do: fc.constant('pull' as const),
        maxBytes: fc.oneof(fc.integer({ min: 1, max: 300 }), fc.integer({ min: 300, max: 30_000 })),
        limit: fc.integer({ min: 1, max: 30 }),
        acked: fc.integer({ min: 0, max: 3 }),
      }),
    },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('ackOther' as const), chat: place }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('rest' as const) }) },
  ),
  { minLength: 4, maxLength: 30 },
);

/** The stored entries: a tombstone has no size. */
interface Stored {
  readonly id: number;
  readonly kind: 'message' | 'delete' | 'deleted';
  readonly bytes: number;
  readonly at: number;
}

class World {
  readonly #redis: Redis | Cluster;
  readonly #prefix = freshPrefix();
  readonly #chats: Chats;
  readonly #acked = new Map(NAMES.map((name) => [name, 0]));

  constructor(redis: Redis | Cluster) {
    this.#redis = redis;
    this.#chats = new Chats(redis, { prefix: this.#prefix });
  }

  async live(life: readonly Step[]): Promise<void> {
    for (const chatId of NAMES)
      await this.#chats.create({ sender: 'anna', members: ['ben', 'cleo'], chatId });
    for (const step of life) await this.#do(step);
    // The other messages come with any bound.
    for (const maxBytes of [1, 500, 10_000]) {
      for (let pulls = 0; pulls < 8; pulls += 1)
        await this.#pull({ do: 'pull', maxBytes, limit: 100, acked: 3 });
    }
    await this.#rest();
    expect((await this.#chats.chatsOf('ben')).map(({ unread }) => unread)).toEqual(NAMES.map(() => 0));
  }

  async #rest(): Promise<void> {
    for (let pulls = 0; pulls < 3; pulls += 1)
      await this.#pull({ do: 'pull', maxBytes: ALL, limit: 1_000, acked: 3 });
    for (let pulls = 0; pulls < 2; pulls += 1) expect(await this.#chats.pull('ben')).toEqual([]);
  }

  async #do(step: Step): Promise<void> {
    if (step.do === 'pull') {
      await this.#pull(step);
      return;
    }
    if (step.do === 'rest') {
      await this.#rest();
      return;
    }
    const chatId = NAMES[step.chat]!;
    const stored = await this.#stored(chatId);
    if (step.do === 'post') {
      for (const size of step.sizes) await this.#chats.post(chatId, 'anna', 'x'.repeat(size - 2));
    } else if (step.do === 'ackOther')
      await this.#chats.ack(chatId, 'cleo', stored.at(-1)?.id ?? 0).catch(() => undefined);
    else {
      const entry = stored.filter(({ kind }) => kind === 'message').at(-1 - step.back);
      if (entry) await this.#chats.delete(chatId, 'anna', entry.id);
    }
  }

  async #stored(chatId: string): Promise<Stored[]> {
    const [entries, epoch] = await Promise.all([
      this.#redis.lrange(`${this.#prefix}:messaging:{${chatId}}:log`, 0, -1),
      this.#redis.zscore(`${this.#prefix}:messaging:{${chatId}}:chat`, '\0e'),
    ]);
    return entries.map((entry) => {
      const [, id, letter, at] = /^(\d+):([A-Z]?)(\d+):/.exec(entry)!;
      const kind = letter === 'X' ? 'deleted' : letter === 'D' ? 'delete' : 'message';
      return { id: Number(id), kind, bytes: Buffer.byteLength(entry), at: Number(at) - Number(epoch) };
    });
  }

  async #pull({ maxBytes, limit, acked }: Step & { do: 'pull' }): Promise<void> {
    const before = new Map<string, Stored[]>();
    for (const chatId of NAMES) {
      const stored = await this.#stored(chatId);
      before.set(
        chatId,
        stored.filter(({ id }) => id > this.#acked.get(chatId)!),
      );
    }
    const pulled = await this.#chats.pull('ben', { maxReplyBytes: maxBytes, limit });
    this.#check(before, pulled, { maxBytes, limit });
    // All of them, those of the first chat, the first message of each, or nothing.
    const taken = acked === 1 ? pulled.slice(0, 1) : acked === 0 ? [] : pulled;
    for (const { chatId, messages } of taken) {
      const upToId = (acked === 2 ? messages[0] : messages.at(-1))!.id;
      await this.#chats.ack(chatId, 'ben', upToId);
      this.#acked.set(chatId, upToId);
    }
  }

  #check(
    before: ReadonlyMap<string, readonly Stored[]>,
    pulled: readonly Pulled[],
    { maxBytes, limit }: { maxBytes: number; limit: number },
  ): void {
    expect(pulled.map(({ chatId }) => chatId)).toEqual(
      NAMES.filter((name) => pulled.some(({ chatId }) => chatId === name)),
    );
    const waiting = new Map<string, Stored[]>();
    for (const [chatId, entries] of before) {
      const shown = entries.filter(({ kind }) => kind !== 'deleted');
      if (shown.length > 0) waiting.set(chatId, shown);
    }
    let [bytesOfAll, count] = [0, 0];
    for (const { chatId, messages, unread, lastId, ackedId, gap } of pulled) {
      const shown = waiting.get(chatId)!;
      expect(gap).toBeUndefined();
      expect(messages.length).toBeGreaterThan(0);
      expect(messages.length).toBeLessThanOrEqual(limit);
      expect(messages.map(({ id, kind }) => [id, kind])).toEqual(
        shown.slice(0, messages.length).map(({ id, kind }) => [id, kind]),
      );
      expect([unread, lastId, ackedId]).toEqual([
        shown.filter(({ kind }) => kind === 'message').length,
        before.get(chatId)!.at(-1)!.id,
        this.#acked.get(chatId),
      ]);
      count += messages.length;
      for (const { bytes: size } of shown.slice(0, messages.length)) bytesOfAll += size;
    }
    if (count !== 1) expect(bytesOfAll).toBeLessThanOrEqual(maxBytes);
    if (waiting.size === 0) return;
    // The chat that has waited longest is among them.
    const oldestAt = Math.min(...Array.from(waiting.values(), ([first]) => first!.at));
    const oldest = Array.from(waiting).filter(([, [first]]) => first!.at === oldestAt);
    expect(oldest.some(([chatId]) => pulled.some((chat) => chat.chatId === chatId))).toBe(true);
    if (maxBytes === ALL) {
      expect(pulled.map(({ messages }) => messages.length)).toEqual(
        Array.from(waiting.values(), (shown) => Math.min(limit, shown.length)),
      );
    }
  }
}

let servers: RedisCluster;
let cluster: Cluster;
const redis = connect();
beforeAll(async () => {
  servers = await startCluster();
  cluster = new Cluster(
    servers.nodes.map(({ host, port }) => ({ host, port })),
    { redisOptions: { disconnectTimeout: 100 } },
  );
  await cluster.ping();
});
afterAll(async () => {
  disconnect(cluster);
  await servers.stop();
});

test('on a single node', async () => {
  const property = fc.asyncProperty(steps, async (life) => new World(redis).live(life));
  await fc.assert(property, { numRuns: 40 });
  expect(redis.status).toBe('ready');
});

test('on Cluster', async () => {
  const property = fc.asyncProperty(steps, async (life) => new World(cluster).live(life));
  await fc.assert(property, { numRuns: 20 });
  expect(cluster.status).toBe('ready');
});
