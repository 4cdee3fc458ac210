import { expect, test } from '@jest/globals';
import { Chats } from '@mortise/messaging';
import { keySlot } from '@mortise/redis-server';
import { freshPrefix, runCluster, until } from '@mortise/test-kit';
import type { Reader } from '../fixture/follow-reader.js';
import { read, upTo } from '../fixture/guild.js';
import { keepPosting } from '../fixture/keep-posting.js';

const { servers: cluster, connect } = await runCluster();
const CHATS = Array.from({ length: 12 }, (_, index) => `chat-${index}`);

function open(prefix: string): Chats {
  const client = connect({
    maxRedirections: 100,
    retryDelayOnFailover: 50,
    retryDelayOnClusterDown: 50,
    retryDelayOnTryAgain: 5,
    redisOptions: { maxRetriesPerRequest: null },
  });
  return new Chats(client, { prefix });
}

/** Twelve chats on all masters, with two followers in two processes, and somebody who posts to all of them. */
class Scene {
  readonly prefix = freshPrefix();
  readonly #chats = open(this.prefix);
  readonly #followers: Reader[] = [];
  #count = 0;

  get bob(): Reader {
    return this.#followers[0]!;
  }

  get carl(): Reader {
    return this.#followers[1]!;
  }

  async begin(): Promise<void> {
    for (const chatId of CHATS) {
      await this.#chats.create({ chatId, sender: 'anna', members: ['bob', 'carl'] });
    }
    this.#followers.push(...['bob', 'carl'].map((member) => read(open(this.prefix), member)));
  }

  post(): () => Promise<void> {
    const stop = keepPosting(async (n) => {
      const all = CHATS.map((chatId) =>
        persist(() => this.#chats.post(chatId, 'anna', n, { id: `id-${n}` })),
      );
      await Promise.all(all);
    }, this.#count);
    return async () => {
      this.#count = await stop();
    };
  }

  async typing(chatId: string): Promise<void> {
    await this.#chats.typing(chatId, 'bob');
  }

  /** In the end, followers have each message of each chat once, in order, and nothing else. */
  async outcome(): Promise<{ wrong: string[]; others: string[] }> {
    const count = this.#count;
    await until(
      'everything for everybody',
      () => this.#followers.every((reader) => CHATS.every((chatId) => reader.ids(chatId).at(-1) === count)),
      40_000,
    );
    const ids = upTo(count).join();
    const wrong = this.#followers.flatMap((reader) =>
      CHATS.filter((chatId) => reader.ids(chatId).join() !== ids).map(
        (chatId) => `${chatId} ${reader.ids(chatId).join()}`,
      ),
    );
    const others = this.#followers.flatMap(({ texts }) => texts.filter((text) => text.includes(' ')));
    return { wrong, others };
  }
}

async function play(): Promise<Scene> {
  const scene = new Scene();
  await scene.begin();
  return scene;
}

const WHOLE = { wrong: [], others: [] };

/** With an id of the sender, trying again is safe. */
async function persist<Result>(act: () => Promise<Result>): Promise<Result> {
  return until('a server', () => act().catch(() => undefined));
}

test('followers of chats on all masters get everything, once and in order', async () => {
  const scene = await play();
  const stop = scene.post();
  await scene.bob.has(200);
  await scene.typing('chat-3');
  await scene.carl.hasText('chat-3 typing bob');
  await stop();
  expect(await scene.outcome()).toEqual({ wrong: [], others: ['chat-3 typing bob'] });
});

test('a slot that moves with its chat, there and back, while messages are posted', async () => {
  const scene = await play();
  const stop = scene.post();
  await scene.bob.has(100);
  const slot = keySlot(`${scene.prefix}:messaging:{chat-5}:chat`);
  const from = await cluster.ownerOf(slot);
  const owners = await Promise.all([0, 8_191, 16_383].map((some) => cluster.ownerOf(some)));
  await cluster.moveSlot(
    slot,
    owners.find((owner) => owner !== from)!,
  );
  await scene.carl.has(scene.carl.events.length + 100);
  await cluster.moveSlot(slot, from);
  await scene.bob.has(scene.bob.events.length + 100);
  await stop();
  expect(await scene.outcome()).toEqual(WHOLE);
});

test('a failover of a master, while messages are posted', async () => {
  const scene = await play();
  const stop = scene.post();
  await scene.bob.has(100);
  await cluster.failover(await cluster.ownerOf(0));
  await scene.carl.has(scene.carl.events.length + 100);
  await stop();
  expect(await scene.outcome()).toEqual(WHOLE);
});

test('followers of a killed master go on at its successor', async () => {
  const scene = await play();
  const stop = scene.post();
  await scene.bob.has(100);
  await stop();
  const dead = await cluster.ownerOf(`${scene.prefix}:messaging:{bob}:chats`);
  await until('its replica to have everything', async () => {
    const info = String(await dead.command('INFO', 'replication'));
    const [, written] = /master_repl_offset:(\d+)/.exec(info) ?? [];
    return info.includes(`offset=${written},lag`);
  });
  await dead.kill();
  await cluster.failover(dead);
  const goOn = scene.post();
  await scene.carl.has(scene.carl.events.length + 100);
  await goOn();
  expect(await scene.outcome()).toEqual(WHOLE);
  await dead.restart();
});

test('a member who left and came back resumes after that, in every chat', async () => {
  const scene = await play();
  const stop = scene.post();
  await scene.bob.has(50);
  await stop();
  await scene.outcome();
  await scene.bob.stop();
  // Before the last messages, and after some of every chat.
  const after = scene.bob.events.at(-20)!.token;
  const chats = open(scene.prefix);
  const begins = new Map<string, number>();
  for (const chatId of CHATS) {
    await chats.leave(chatId, 'bob');
    await chats.post(chatId, 'anna', 'not for bob');
    const { ackedId } = await chats.join(chatId, 'bob');
    await chats.post(chatId, 'bob', 'own');
    begins.set(chatId, ackedId + 1);
  }
  const resumed = read(open(scene.prefix), 'bob', { after });
  for (const [chatId, id] of begins) await resumed.hasText(`${chatId}:${id}`);
  for (const [chatId, id] of begins) expect(resumed.ids(chatId)).toEqual([id]);
  const away = resumed.texts.filter((text) => text.includes(' '));
  expect(away.toSorted()).toEqual(CHATS.flatMap((id) => [`${id} joined bob`, `${id} left bob`]).toSorted());
});
