/**
 * The models of @mortise/messaging, at length: random lives of chats and mailboxes, compared after each step with what a chat
 * or a mailbox in memory has, while connections are killed. Its own tests play the same for a second or two.
 *
 * A hundred lives take each step at the same time, and connections are killed between two steps; so each step is taken once, and its
 * result is known exactly. In the last two, connections are cut under what several processes do to the same chats.
 */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { setTimeout as pause } from 'node:timers/promises';
import { Chats } from '@mortise/messaging';
import type { RedisCluster, RedisServer, TcpProxy } from '@mortise/redis-server';
import { startCluster, startProxy, startSingle } from '@mortise/redis-server';
import { disconnect, freshPrefix } from '@mortise/test-kit';
import * as fc from 'fast-check';
import type { Cluster, Redis } from 'ioredis';
import type { ChatStep } from '../../../../packages/messaging/test/fixture/chat-model.js';
import {
  ChatModel,
  compareChat,
  expectation,
  MAX_MESSAGES,
  operation,
  take,
} from '../../../../packages/messaging/test/fixture/chat-model.js';
import { rounds } from '../../../../packages/messaging/test/fixture/chats-actions.js';
import { World } from '../../../../packages/messaging/test/fixture/chats-world.js';
import { MailboxPair, mailboxStep } from '../../../../packages/messaging/test/fixture/mailbox-pair.js';
import { connectTo } from '../../src/connect.js';

/** A run is repeated with the seed that it has printed. */
const SEED = Number(process.env['MORTISE_SEED'] ?? Date.now() % 2 ** 31);
const LIVES = 100;
const STEPS = { single: 350, cluster: 150 };
const WORLDS = { single: 100, cluster: 30 };
const KILL_EVERY = 5;
/** Each takes a minute or less on a machine of two processors with nothing else to do. */
const TIMEOUT_MS = 1_200_000;
const PROCESSES = 3;

interface Life {
  step(index: number): Promise<void>;
}

/** One chat, and what it should be. */
class ChatLife implements Life {
  readonly #chats: Chats<number>;
  readonly #model: ChatModel;
  readonly #prefix = freshPrefix();

  constructor(
    readonly redis: Redis | Cluster,
    readonly steps: readonly ChatStep[],
    keepAcked: number,
  ) {
    this.#chats = new Chats(redis, { prefix: this.#prefix, maxMessages: MAX_MESSAGES, keepAcked });
    this.#model = new ChatModel(keepAcked);
  }

  async step(index: number): Promise<void> {
    const step = this.steps[index]!;
    const { lastId } = this.#model;
    const expected = expectation(step, this.#model, index);
    expect([index, step, await take(step, this.#chats, lastId, index)]).toEqual([index, step, expected]);
    await compareChat(this.redis, this.#prefix, this.#model);
  }
}

/** One mailbox, and what it should be. */
class MailboxLife implements Life {
  readonly #pair: MailboxPair;

  constructor(
    redis: Redis | Cluster,
    readonly steps: Parameters<MailboxPair['take']>[0][],
  ) {
    this.#pair = new MailboxPair(redis, freshPrefix());
  }

  async step(index: number): Promise<void> {
    const step = this.steps[index]!;
    const [got, wanted] = await this.#pair.take(step);
    expect([index, step, got]).toEqual([index, step, wanted]);
    await this.#pair.compare();
  }
}

/** The steps of each life: the same for the same seed. */
function sample<Step>(step: fc.Arbitrary<Step>, count: number): Step[][] {
  return fc.sample(fc.array(step, { minLength: count, maxLength: count, size: 'max' }), {
    seed: SEED,
    numRuns: LIVES,
  });
}

async function play(lives: readonly Life[], count: number, kill: () => Promise<unknown>): Promise<number> {
  let kills = 0;
  for (let index = 0; index < count; index += 1) {
    await Promise.all(lives.map((life) => life.step(index)));
    if (index % KILL_EVERY !== 0) continue;
    await kill();
    kills += 1;
  }
  return kills;
}

interface Place {
  readonly client: Redis | Cluster;
  readonly kill: () => Promise<unknown>;
}

/** Steps of chats and mailboxes, each on the client whose connections are killed between them. */
function describeLives(where: 'single' | 'cluster', placeOf: () => Place): void {
  const count = STEPS[where];

  test(
    'chats',
    async () => {
      const { client, kill } = placeOf();
      const lives = sample(operation, count).map(
        (steps, index) => new ChatLife(client, steps, (index % 2) * 2),
      );
      const kills = await play(lives, count, kill);
      report(`chats, ${where}`, LIVES * count, kills);
      expect(kills).toBeGreaterThan(0);
    },
    TIMEOUT_MS,
  );

  test(
    'mailboxes',
    async () => {
      const { client, kill } = placeOf();
      const lives = sample(mailboxStep, count).map((steps) => new MailboxLife(client, steps));
      const kills = await play(lives, count, kill);
      report(`mailboxes, ${where}`, LIVES * count, kills);
      expect(kills).toBeGreaterThan(0);
    },
    TIMEOUT_MS,
  );
}

/** Several processes on the same chats, whose connections are cut at any moment. */
async function playWorlds(
  where: 'single' | 'cluster',
  clients: (Redis | Cluster)[],
  cut: () => Promise<unknown>,
): Promise<number> {
  let actions = 0;
  let cuts = 0;
  const counted = async (): Promise<void> => {
    cuts += 1;
    await cut();
  };
  for (const [index, life] of fc.sample(rounds, { seed: SEED, numRuns: WORLDS[where] }).entries()) {
    const world = new World(clients, counted);
    try {
      for (const round of life) await world.live(round);
    } catch (error) {
      throw new Error(`world ${index} of seed ${SEED}`, { cause: error });
    }
    actions += world.actions;
  }
  report(`worlds, ${where}`, actions, cuts);
  return cuts;
}

let total = 0;

function report(what: string, steps: number, kills: number): void {
  total += steps;
  process.stdout.write(
    `${what}: ${steps} steps, connections killed ${kills} times, seed ${SEED}; ${total} in all\n`,
  );
}

describe('on a single node', () => {
  let server: RedisServer;
  let proxy: TcpProxy;
  let client: Redis | Cluster;
  const clients: (Redis | Cluster)[] = [];

  beforeAll(async () => {
    server = await startSingle({ isCluster: true });
    proxy = await startProxy(server);
    client = connectTo({ url: server.url });
    for (let index = 0; index < PROCESSES; index += 1) clients.push(connectTo({ url: proxy.url }));
  });
  afterAll(async () => {
    for (const each of [client, ...clients]) disconnect(each);
    await proxy?.stop();
    await server?.stop();
  });

  describeLives('single', () => ({
    client,
    kill: () => server.command('CLIENT', 'KILL', 'TYPE', 'normal'),
  }));

  test(
    'random actions of several processes at once',
    async () => {
      /** Redis executes the commands, and the replies are lost; ioredis then sends them once more. */
      const cuts = await playWorlds('single', clients, async () => {
        proxy.dropReplies();
        await pause(2);
        await proxy.restore();
      });
      expect(cuts).toBeGreaterThan(0);
    },
    TIMEOUT_MS,
  );
});

describe('on three masters', () => {
  let servers: RedisCluster;
  let client: Redis | Cluster;
  const clients: (Redis | Cluster)[] = [];
  const kill = (): Promise<unknown> =>
    Promise.all(servers.nodes.map((node) => node.command('CLIENT', 'KILL', 'TYPE', 'normal')));

  beforeAll(async () => {
    servers = await startCluster();
    const { startupNodes } = servers;
    client = connectTo({ startupNodes });
    for (let index = 0; index < PROCESSES; index += 1) clients.push(connectTo({ startupNodes }));
    for (const each of [client, ...clients]) await each.ping();
  });
  afterAll(async () => {
    for (const each of [client, ...clients]) disconnect(each);
    await servers?.stop();
  });

  describeLives('cluster', () => ({ client, kill }));

  test(
    'random actions of several processes at once',
    async () => {
      expect(await playWorlds('cluster', clients, kill)).toBeGreaterThan(0);
    },
    TIMEOUT_MS,
  );
});

test('that was a hundred thousand steps', () => {
  expect(total).toBeGreaterThanOrEqual(100_000);
});
