/** The chat `guild` of anna, who owns it, bob and carl; each test has a prefix of its own. */
import { afterEach } from '@jest/globals';
import { Chats } from '@mortise/messaging';
import type { ChatsOptions, FollowOptions } from '@mortise/messaging';
import { connect, freshPrefix } from '@mortise/test-kit';
import { Reader } from './follow-reader.js';

export const redis = connect();
/** Of the last `open`. */
export let prefix = '';
const readers: Reader[] = [];

afterEach(async () => {
  for (const reader of readers.splice(0)) await reader.stop();
});

export function open(options: ChatsOptions = {}): Chats {
  prefix = freshPrefix();
  return new Chats(redis, { prefix, ...options });
}

export async function openChat(options: ChatsOptions = {}): Promise<Chats> {
  const chats = open(options);
  await chats.create({ chatId: 'guild', sender: 'anna', members: ['bob', 'carl'] });
  return chats;
}

/** All keys, without the prefix. */
export async function keys(): Promise<string[]> {
  const all = await redis.keys(`${prefix}:*`);
  return all.map((key) => key.slice(prefix.length + ':messaging:'.length)).toSorted();
}

/** A follower that ends with the test. */
export function read(
  chats: Chats,
  member: string,
  options: Omit<FollowOptions, 'signal'> = {},
  onEvent?: ConstructorParameters<typeof Reader>[3],
): Reader {
  const reader = new Reader(chats, member, options, onEvent);
  readers.push(reader);
  return reader;
}

export const upTo = (count: number): number[] => Array.from({ length: count }, (_, index) => index + 1);
