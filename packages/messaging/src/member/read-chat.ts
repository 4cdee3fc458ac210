import type { LeftEntry } from './chat-reader.js';
import { largestPart } from './fair-parts.js';
import type { Pulled } from './pulled.js';

/** What was read of one chat, before it is known how much of that the reply has room for. */
export interface ReadChat<Body> {
  readonly pulled: Pulled<Body>;
  /** Bytes of each of the messages. */
  readonly sizes: readonly number[];
  /** The next entry, if it was left for its size. */
  readonly left?: LeftEntry;
}

/** Bytes of what was read of a chat. */
export function bytesOf({ sizes }: ReadChat<unknown>): number {
  return sizes.reduce((sum, size) => sum + size, 0);
}

/** When the first entry behind the cursor was sent, be it read or left; undefined where nothing but a gap is known. */
export function waitingSince({ pulled, left }: ReadChat<unknown>): number | undefined {
  return pulled.messages[0]?.sentAt ?? left?.sentAt;
}

/**
 * The chat that waits for the longest time; of several, the first one. What a reply has is acked, and what is posted later is younger: so
 * whatever waits is the oldest one day, however much comes behind it, for whichever process pulls then.
 */
export function oldestOf<Body>(chats: readonly ReadChat<Body>[]): ReadChat<Body> | undefined {
  let oldest: ReadChat<Body> | undefined;
  let since = Infinity;
  for (const chat of chats) {
    const sentAt = waitingSince(chat);
    if (sentAt === undefined || sentAt >= since) continue;
    oldest = chat;
    since = sentAt;
  }
  return oldest;
}

/**
 * The chats of one reply, in their order. The oldest message comes whatever its size. What it leaves of the bytes goes to all chats in
 * equal parts, and what is over then to one after the other, those that wait for the longest time first.
 */
export function fit<Body>(chats: readonly ReadChat<Body>[], maxBytes: number): Pulled<Body>[] {
  const bytes = chats.map(bytesOf);
  const counts = chats.map(({ sizes }) => sizes.length);
  if (bytes.reduce((sum, each) => sum + each, 0) > maxBytes) {
    const oldest = oldestOf(chats.filter(({ sizes }) => sizes.length > 0))!;
    const oldestAt = chats.indexOf(oldest);
    const first = oldest.sizes[0]!;
    let room = Math.max(0, maxBytes - first);
    const wanted = bytes.map((each, index) => (index === oldestAt ? each - first : each));
    const part = largestPart(wanted, room);
    const take = (index: number, most: number): void => {
      const { sizes } = chats[index]!;
      let free = most;
      let count = counts[index]!;
      for (; count < sizes.length && sizes[count]! <= free; count += 1) free -= sizes[count]!;
      counts[index] = count;
      room -= most - free;
    };
    for (const index of chats.keys()) {
      counts[index] = index === oldestAt ? 1 : 0;
      take(index, Math.min(part, room));
    }
    const byAge = [...chats.keys()].toSorted((a, b) => sinceOf(chats[a]!) - sinceOf(chats[b]!));
    for (const index of byAge) take(index, room);
  }
  return chats.flatMap(({ pulled }, index) => {
    const messages = pulled.messages.slice(0, counts[index]);
    return messages.length > 0 || pulled.gap ? [{ ...pulled, messages }] : [];
  });
}

function sinceOf(chat: ReadChat<unknown>): number {
  return waitingSince(chat) ?? Infinity;
}
