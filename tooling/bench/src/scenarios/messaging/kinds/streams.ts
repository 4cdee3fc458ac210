/**
 * Redis Streams: a stream for each chat, capped as it is recommended, and a set of each member's chats. All chats of a
 * member are read by one command, which a Cluster refuses. A group for each member knows what the member has read, by
 * an ack; or the member alone knows it and stores the positions.
 */
import { Redis } from 'ioredis';
import type { Audience, ChatClient, ChatKind, ChatOptions } from '../kind.js';
import { UNREAD } from '../kind.js';
import { sharedConnection } from './connection.js';
import { Receipts } from './receipts.js';

type Entries = [stream: string, entries: [id: string, fields: string[] | null][]][];

const KEPT = 10_000;
const START = '0-0';

function client(url: string, hasGroups: boolean, { kept = KEPT }: ChatOptions = {}): ChatClient {
  const conn = sharedConnection(url);
  const positions = new Positions();
  const post = (chat: string, sender: string, text: string): Promise<unknown> =>
    conn.xadd(streamOf(chat), 'MAXLEN', '~', kept, '*', 'sender', sender, 'text', text);
  return {
    create: async (chat, members, text) => {
      const creating = conn.multi();
      for (const member of members) {
        creating.sadd(chatsOf(member), chat);
        if (hasGroups) creating.xgroup('CREATE', streamOf(chat), member, '$', 'MKSTREAM');
      }
      await creating.exec();
      await post(chat, members[0]!, text);
    },
    post,
    postMany: (chat, sender, texts) => Promise.all(texts.map((text) => post(chat, sender, text))),
    pull: (member) => (hasGroups ? pullAndAck(conn, member) : pull(conn, member, positions)),
  };
}

async function accepted(redis: Redis, chat: string): Promise<number> {
  const info = (await redis.xinfo('STREAM', streamOf(chat))) as unknown[];
  return info[info.indexOf('entries-added') + 1] as number;
}

async function pullAndAck(conn: Redis, member: string): Promise<number> {
  const streams = (await conn.smembers(chatsOf(member))).map(streamOf);
  const newest = streams.map(() => '>');
  const found: Entries | null = await conn.xreadgroup(
    'GROUP',
    member,
    'only',
    'COUNT',
    UNREAD,
    'STREAMS',
    ...streams,
    ...newest,
  );
  if (!found) return 0;
  const acking = conn.pipeline();
  for (const [stream, entries] of found) acking.xack(stream, member, ...entries.map(([id]) => id));
  await acking.exec();
  return count(found);
}

async function pull(conn: Redis, member: string, positions: Positions): Promise<number> {
  const streams = (await conn.smembers(chatsOf(member))).map(streamOf);
  const ids = streams.map((stream) => positions.get(member, stream));
  const found = (await conn.xread('COUNT', UNREAD, 'STREAMS', ...streams, ...ids)) as Entries | null;
  if (!found) return 0;
  for (const [stream, entries] of found) positions.set(member, stream, entries.at(-1)![0]);
  return count(found);
}

/** The last read message of each member. */
class Positions {
  readonly #read = new Map<string, string>();

  get(member: string, stream: string): string {
    return this.#read.get(`${member} ${stream}`) ?? START;
  }

  set(member: string, stream: string, id: string): void {
    this.#read.set(`${member} ${stream}`, id);
  }
}

function count(found: Entries): number {
  return found.reduce((sum, [, entries]) => sum + entries.length, 0);
}

/** A connection and a blocking command for each member. */
async function attend(url: string, members: readonly string[]): Promise<Audience> {
  const receipts = new Receipts(members);
  const listen = async (member: string, conn: Redis): Promise<never> => {
    const streams = (await conn.smembers(chatsOf(member))).map(streamOf);
    const positions = new Positions();
    for (;;) {
      const ids = streams.map((stream) => positions.get(member, stream));
      const found = (await conn.xread('BLOCK', 0, 'STREAMS', ...streams, ...ids)) as Entries;
      for (const [stream, entries] of found) positions.set(member, stream, entries.at(-1)![0]);
      receipts.add(member, count(found));
    }
  };
  await Promise.all(
    members.map(async (member) => {
      const conn = new Redis(url);
      await conn.ping();
      void listen(member, conn);
    }),
  );
  return receipts;
}

function streamOf(chat: string): string {
  return `stream:${chat}`;
}

function chatsOf(member: string): string {
  return `chats:${member}`;
}

export const STREAM_GROUPS: ChatKind = {
  name: 'Redis Streams, a group for each member',
  version: '',
  connect: (url, options) => client(url, true, options),
  accepted,
  isPushed: false,
};

export const STREAMS: ChatKind = {
  name: 'Redis Streams, XREAD',
  version: '',
  connect: (url, options) => client(url, false, options),
  accepted,
  isPushed: true,
  attend,
};
