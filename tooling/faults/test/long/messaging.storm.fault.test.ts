/** A thousand followers whose connections are cut and who come back with their tokens: nothing is lost, nothing comes twice. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Chats } from '@mortise/messaging';
import type { ChatEvent } from '@mortise/messaging';
import type { RedisServer, TcpProxy } from '@mortise/redis-server';
import { startProxy, startSingle } from '@mortise/redis-server';
import { disconnect, freshPrefix, until } from '@mortise/test-kit';
import type { Cluster, Redis } from 'ioredis';
import { connectTo } from '../../src/connect.js';

const FOLLOWERS = 1_000;
const PROCESSES = 20;
const CUTS = 100;
/** Everybody is in the first chat, and in one of the others. */
const CHATS = 26;
const SETTLE_MS = 120_000;

let server: RedisServer;
const proxies: TcpProxy[] = [];
const clients: (Redis | Cluster)[] = [];

beforeAll(async () => {
  server = await startSingle({ isCluster: true });
});
afterAll(async () => {
  for (const client of clients) disconnect(client);
  await Promise.all(proxies.map((proxy) => proxy.stop()));
  await server?.stop();
});

function open(url: string, prefix: string): Chats {
  const client = connectTo({ url });
  clients.push(client);
  return new Chats(client, { prefix });
}

/** A follower that is interrupted, and resumes after the last event that it has handled. */
class Follower {
  /** Of each chat: the last id that came. */
  readonly lastIds = new Map<string, number>();
  readonly wrong: string[] = [];
  resumptions = 0;
  #token: string | undefined;
  #controller = new AbortController();
  #reading: Promise<void> = Promise.resolve();

  constructor(
    readonly member: string,
    /** Half of them ack what they get, so that tokens are short; tokens of the others grow. */
    readonly isAcking: boolean,
  ) {}

  start(chats: Chats): void {
    this.#controller = new AbortController();
    const { signal } = this.#controller;
    const options = { signal, ...(this.#token !== undefined && { after: this.#token }) };
    this.#reading = (async () => {
      for await (const event of chats.follow(this.member, options)) {
        this.#take(event);
        this.#token = event.token;
        if (this.isAcking && event.type === 'message' && event.message.id % 5 === 0) {
          // An ack that is cut off was executed, or the next one does its work.
          chats.ack(event.chatId, this.member, event.message.id).catch(() => undefined);
        }
      }
    })().catch((error: unknown) => {
      if (!signal.aborted) this.wrong.push(String(error));
    });
  }

  async stop(): Promise<void> {
    this.resumptions += 1;
    this.#controller.abort();
    await this.#reading;
  }

  #take(event: ChatEvent): void {
    const { chatId } = event;
    const lastId = this.lastIds.get(chatId) ?? 0;
    const isNext = event.type === 'message' && event.message.id === lastId + 1;
    if (isNext) this.lastIds.set(chatId, lastId + 1);
    else
      this.wrong.push(
        `${chatId}: ${event.type} ${'message' in event ? event.message.id : ''} after ${lastId}`,
      );
  }
}

test(`${FOLLOWERS} followers, cut at random ${CUTS} times: 0 lost, 0 duplicated`, async () => {
  const prefix = freshPrefix();
  const chats = open(server.url, prefix);
  const followers = Array.from(
    { length: FOLLOWERS },
    (_, index) => new Follower(`m${index}`, index % 2 === 0),
  );
  const chatIds = Array.from({ length: CHATS }, (_, index) => `chat-${index}`);
  for (const [place, chatId] of chatIds.entries()) {
    const isIn = (index: number): boolean => place === 0 || index % (CHATS - 1) === place - 1;
    const members = followers.filter((_, index) => isIn(index)).map(({ member }) => member);
    await chats.create({ chatId, sender: 'anna', members });
  }
  const processes = await Promise.all(
    Array.from({ length: PROCESSES }, async () => {
      const proxy = await startProxy(server);
      proxies.push(proxy);
      return { proxy, chats: open(proxy.url, prefix) };
    }),
  );
  const anyOf = <Item>(items: readonly Item[]): Item => items[Math.floor(Math.random() * items.length)]!;
  for (const [index, follower] of followers.entries()) follower.start(processes[index % PROCESSES]!.chats);

  let cutOff = 0;
  const start = performance.now();
  for (let cut = 1; cut <= CUTS; cut += 1) {
    const posting = Promise.all(chatIds.map((chatId) => chats.post(chatId, 'anna', cut)));
    for (const { proxy } of processes) {
      if (Math.random() < 0.5) continue;
      proxy.cut();
      cutOff += FOLLOWERS / PROCESSES;
    }
    const some = followers.filter(() => Math.random() < 0.05);
    await Promise.all(some.map((follower) => follower.stop()));
    for (const follower of some) follower.start(anyOf(processes).chats);
    await posting;
    // Some rounds meet followers that are through, some such as are catching up.
    if (cut % 3 === 0)
      await until('one of them', () => anyOf(followers).lastIds.get('chat-0') === cut, SETTLE_MS);
  }
  const isThrough = ({ lastIds }: Follower): boolean =>
    lastIds.size === 2 && [...lastIds.values()].every((id) => id === CUTS);
  await until(
    'everything for everybody',
    () => followers.every((follower) => isThrough(follower) || follower.wrong.length > 0),
    SETTLE_MS,
  );
  const resumptions = followers.reduce((sum, follower) => sum + follower.resumptions, 0);
  const seconds = ((performance.now() - start) / 1_000).toFixed(1);
  const delivered = FOLLOWERS * 2 * CUTS;
  process.stdout.write(
    `storm: ${delivered} deliveries, ${cutOff} interruptions, ${resumptions} resumptions in ${seconds} s\n`,
  );
  expect(
    followers.filter(({ wrong }) => wrong.length > 0).map(({ member, wrong }) => [member, wrong.slice(0, 3)]),
  ).toEqual([]);
  expect(followers.every(isThrough)).toBe(true);
  expect(resumptions).toBeGreaterThan(FOLLOWERS);
  await Promise.all(followers.map((follower) => follower.stop()));
});
