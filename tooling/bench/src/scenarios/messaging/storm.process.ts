/** One process of members who come back, or of others who post in the meantime. */
import { Chats } from '@mortise/messaging';
import type { Redis } from 'ioredis';
import { setTimeout as sleep } from 'node:timers/promises';
import { sharedConnection } from './kinds/connection.js';
import { redisCpuMs } from './redis-cpu.js';

interface Storm {
  readonly url: string;
  readonly teams: readonly number[];
  /** Of each team. */
  readonly members: number;
  /** Of each team. */
  readonly chats: number;
  /** New ones in each chat. */
  readonly messages: number;
  readonly text: string;
  /** Pulls that wait for Redis. */
  readonly atOnce: number;
}

const FILLERS = 20;
const OTHERS_CHAT = 'others';
const OTHER = 'other';
let took: number[] = [];
let isPosting = true;
let redis: Redis;
let chats: Chats<string>;

function open(url: string): void {
  redis = sharedConnection(url);
  chats = new Chats<string>(redis);
}

function memberOf(team: number, member: number): string {
  return `member-${team}-${member}`;
}

async function each<Item>(
  all: readonly Item[],
  atOnce: number,
  act: (one: Item) => Promise<unknown>,
): Promise<void> {
  let next = 0;
  const go = async (): Promise<void> => {
    while (next < all.length) await act(all[next++]!);
  };
  await Promise.all(Array.from({ length: atOnce }, go));
}

async function fill({ url, teams, members, chats: chatsOfTeam, messages, text }: Storm): Promise<void> {
  open(url);
  const all = teams.flatMap((team) => Array.from({ length: chatsOfTeam }, (_, chat) => ({ team, chat })));
  await each(all, FILLERS, async ({ team, chat }) => {
    const chatId = `chat-${team}-${chat}`;
    const sender = `sender-${team}`;
    const names = Array.from({ length: members }, (_, member) => memberOf(team, member));
    await chats.create({ chatId, sender, members: names });
    await Promise.all(Array.from({ length: messages }, () => chats.post(chatId, sender, text)));
  });
}

/** How long each pull took, ms. */
async function pullAll({ teams, members, chats: chatsOfTeam, messages, atOnce }: Storm): Promise<number[]> {
  const all = teams.flatMap((team) => Array.from({ length: members }, (_, member) => memberOf(team, member)));
  const pulls: number[] = [];
  await each(all, atOnce, async (member) => {
    const startedAt = performance.now();
    const pulled = await chats.pull(member);
    pulls.push(performance.now() - startedAt);
    const found = pulled.reduce((sum, { messages: { length } }) => sum + length, 0);
    if (found !== chatsOfTeam * messages) throw new Error(`${member} has ${found} messages`);
  });
  return pulls;
}

async function begin({ url, text, pauseMs }: { url: string; text: string; pauseMs: number }): Promise<void> {
  open(url);
  await chats.create({ chatId: OTHERS_CHAT, sender: OTHER, members: ['one more'] });
  const post = async (): Promise<never> => {
    for (;;) {
      await sleep(pauseMs);
      if (!isPosting) continue;
      const startedAt = performance.now();
      await chats.post(OTHERS_CHAT, OTHER, text);
      took.push(performance.now() - startedAt);
    }
  };
  post().catch((error: unknown) => {
    console.error(error);
    process.exit(1);
  });
}

/** The CPU of Redis for a post, ms, while nothing else happens; with the upkeep of the server. */
async function cpuOfPosts(posts: number): Promise<number> {
  isPosting = false;
  const before = await redisCpuMs(redis);
  for (let count = 0; count < posts; count += 1) await chats.post(OTHERS_CHAT, OTHER, 'x');
  const cpuMs = (await redisCpuMs(redis)) - before;
  isPosting = true;
  return cpuMs / posts;
}

/** How long the posts since the last call took, ms. */
function clear(): Promise<number[]> {
  const all = took;
  took = [];
  return Promise.resolve(all);
}

const actions = { fill, pullAll, begin, cpuOfPosts, clear };

export type StormActions = typeof actions;
export default actions;
