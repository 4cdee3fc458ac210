/**
 * Redis in Action, 6.5.2 and 6.2.3: `create_chat`, `send_message`, `fetch_pending_messages`, `join_chat`, `leave_chat`,
 * `acquire_lock` and `release_lock` of python/ch06_listing_source.py (commit e31da83), command for command.
 */
import { Redis } from 'ioredis';
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Audience, ChatKind } from '../kind.js';
import { sharedConnection } from './connection.js';

interface StoredMessage {
  readonly id: number;
  readonly ts: number;
  readonly sender: string;
  readonly message: string;
}

const ACQUIRE_TIMEOUT_MS = 10_000;
const POLL_MS = 1;

async function acquireLock(conn: Redis, name: string): Promise<string | false> {
  const identifier = randomUUID();
  const end = Date.now() + ACQUIRE_TIMEOUT_MS;
  while (Date.now() < end) {
    if ((await conn.setnx(`lock:${name}`, identifier)) === 1) return identifier;
    await sleep(POLL_MS);
  }
  return false;
}

async function releaseLock(conn: Redis, name: string, identifier: string): Promise<boolean> {
  for (;;) {
    await conn.watch(`lock:${name}`);
    if ((await conn.get(`lock:${name}`)) !== identifier) {
      await conn.unwatch();
      return false;
    }
    if ((await conn.multi().del(`lock:${name}`).exec()) !== null) return true;
  }
}

export async function createChat(
  conn: Redis,
  sender: string,
  recipients: readonly string[],
  message: string,
  chatId?: string,
): Promise<string> {
  const id = chatId ?? String(await conn.incr('ids:chat:'));
  const members = [...recipients, sender];
  const transaction = conn.multi();
  transaction.zadd(`chat:${id}`, ...members.flatMap((member) => [0, member]));
  for (const member of members) transaction.zadd(`seen:${member}`, 0, id);
  await transaction.exec();
  return sendMessage(conn, id, sender, message);
}

export async function sendMessage(
  conn: Redis,
  chatId: string,
  sender: string,
  message: string,
): Promise<string> {
  const identifier = await acquireLock(conn, `chat:${chatId}`);
  if (identifier === false) throw new Error("Couldn't get the lock");
  try {
    const id = await conn.incr(`ids:${chatId}`);
    const packed = JSON.stringify({ id, ts: Date.now() / 1000, sender, message } satisfies StoredMessage);
    await conn.zadd(`msgs:${chatId}`, id, packed);
  } finally {
    await releaseLock(conn, `chat:${chatId}`, identifier);
  }
  return chatId;
}

export async function fetchPendingMessages(
  conn: Redis,
  recipient: string,
): Promise<readonly (readonly [chatId: string, messages: readonly StoredMessage[]])[]> {
  const seen = pairs(await conn.zrange(`seen:${recipient}`, '0', '-1', 'WITHSCORES'));
  if (seen.length === 0) return [];
  const reading = conn.multi();
  for (const [chatId, seenId] of seen) reading.zrangebyscore(`msgs:${chatId}`, Number(seenId) + 1, 'inf');
  const replies = (await reading.exec()) as [Error | null, string[]][];
  const writing = conn.multi();
  const found: [string, StoredMessage[]][] = [];
  for (const [index, [chatId]] of seen.entries()) {
    const messages = replies[index]![1].map((packed) => JSON.parse(packed) as StoredMessage);
    found.push([chatId, messages]);
    const last = messages.at(-1);
    if (!last) continue;
    await conn.zadd(`chat:${chatId}`, last.id, recipient);
    const [, lowest] = await conn.zrange(`chat:${chatId}`, '0', '0', 'WITHSCORES');
    writing.zadd(`seen:${recipient}`, last.id, chatId);
    if (lowest !== undefined) writing.zremrangebyscore(`msgs:${chatId}`, 0, lowest);
  }
  if (writing.length > 0) await writing.exec();
  return found;
}

function pairs(flat: readonly string[]): [string, string][] {
  return Array.from({ length: flat.length / 2 }, (_, index) => [flat[2 * index]!, flat[2 * index + 1]!]);
}

/** Nothing is pushed: each member has to fetch. */
function attend(url: string, members: readonly string[]): Promise<Audience> {
  const conn = sharedConnection(url);
  const had = new Map(members.map((member) => [member, 0]));
  return Promise.resolve({
    until: async (messages) => {
      await Promise.all(
        members.map(async (member) => {
          while (had.get(member)! < messages) {
            for (const [, found] of await fetchPendingMessages(conn, member)) {
              had.set(member, had.get(member)! + found.length);
            }
          }
        }),
      );
    },
  });
}

export const BOOK: ChatKind = {
  name: 'Redis in Action, 6.5.2',
  version: '',
  connect: (url) => {
    // WATCH belongs to a connection: each caller has one.
    const conn = new Redis(url);
    return {
      create: (chat, [sender, ...recipients], text) => createChat(conn, sender!, recipients, text, chat),
      post: (chat, sender, text) => sendMessage(conn, chat, sender, text),
      postMany: async (chat, sender, texts) => {
        const last = await conn.incrby(`ids:${chat}`, texts.length);
        const ts = Date.now() / 1000;
        const storing = conn.pipeline();
        for (const [index, message] of texts.entries()) {
          const id = last - texts.length + 1 + index;
          storing.zadd(
            `msgs:${chat}`,
            id,
            JSON.stringify({ id, ts, sender, message } satisfies StoredMessage),
          );
        }
        await storing.exec();
      },
      pull: async (member) => {
        const found = await fetchPendingMessages(conn, member);
        return found.reduce((sum, [, messages]) => sum + messages.length, 0);
      },
    };
  },
  accepted: async (redis, chat) => Number(await redis.get(`ids:${chat}`)),
  isPushed: false,
  attend,
};
