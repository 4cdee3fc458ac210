/** One process that posts, or creates chats, and ends. */
import { chatKind } from './kinds/index.js';
import { sharedConnection } from './kinds/connection.js';
import { chatOf, memberOf, TEXT } from './message.js';

interface Posting {
  readonly url: string;
  readonly kind: string;
  readonly chats: number;
  /** Messages of each chat. */
  readonly messages: number;
}

interface Creating {
  readonly url: string;
  readonly kind: string;
  /** Each chat has two members, and each member so many chats. */
  readonly memberChats: number;
  /** Until Redis has so many. */
  readonly keys: number;
}

const BATCH = 1_000;
const CALLERS = 50;

/** Every chat has two members, and neither reads. */
async function post({ url, kind, chats, messages }: Posting): Promise<void> {
  const client = chatKind(kind).connect(url, { kept: 2 * messages });
  let next = 0;
  const call = async (): Promise<void> => {
    while (next < chats) {
      const chat = chatOf(next);
      const members = [memberOf(2 * next), memberOf(2 * next + 1)];
      next += 1;
      await client.create(chat, members, TEXT);
      for (let posted = 1; posted < messages; posted += BATCH) {
        const texts = Array.from({ length: Math.min(BATCH, messages - posted) }, () => TEXT);
        await client.postMany(chat, members[0]!, texts);
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(CALLERS, chats) }, call));
}

/** How many chats it has created. */
async function create({ url, kind, memberChats, keys }: Creating): Promise<number> {
  const redis = sharedConnection(url);
  const clients = Array.from({ length: CALLERS }, () => chatKind(kind).connect(url));
  let created = 0;
  const createUntil = async (chats: number): Promise<void> => {
    await Promise.all(
      clients.map(async (client) => {
        while (created < chats) {
          const chat = created++;
          const pair = Math.floor(chat / memberChats);
          await client.create(chatOf(chat), [memberOf(2 * pair), memberOf(2 * pair + 1)], TEXT);
        }
      }),
    );
  };
  await createUntil(BATCH);
  const keysOfChat = (await redis.dbsize()) / created;
  await createUntil(Math.floor(keys / keysOfChat));
  return created;
}

const actions = { post, create };

export type MemoryActions = typeof actions;
export default actions;
