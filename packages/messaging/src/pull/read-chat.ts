/** Divides the bytes of one reply among the chats of a member. */
import type { JoinedChat } from '../members/member-index.js';
import type { NextEntry } from './chat-reader.js';
import type { Pulled } from './pulled.js';

/** The entries read from one chat, before the reply's room is divided. */
export interface ReadChat<Body> {
  readonly chat: JoinedChat;
  readonly pulled: Pulled<Body>;
  /** The bytes of each message. */
  readonly sizes: readonly number[];
  /** The next entry, if it was too large. */
  readonly next?: NextEntry;
}

/** The bytes of all entries read from a chat. */
export function bytesOf({ sizes }: ReadChat<unknown>): number {
  return sizes.reduce((sum, size) => sum + size, 0);
}

/**
 * The largest share of the bytes for each chat, if chats that want less leave their bytes to the others. The shares then sum
 * up to the bytes. `Infinity` if there is enough for all. O(n log n).
 */
export function largestShare(wanted: readonly number[], bytes: number): number {
  let room = bytes;
  let others = wanted.length;
  for (const want of wanted.toSorted((a, b) => a - b)) {
    if (want * others > room) return room / others;
    room -= want;
    others -= 1;
  }
  return Infinity;
}

/** When the first entry after the cursor was sent; undefined if only a gap is known. */
function waitingSince({ pulled, next }: ReadChat<unknown>): number | undefined {
  return pulled.messages[0]?.sentAt ?? next?.sentAt;
}

/**
 * The chat whose first message has waited longest; the first of several. Returned messages are acked, and later posts are
 * younger, so every waiting message eventually becomes the oldest, for any process that pulls.
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
 * The chats of one reply, in their order. The oldest message is included whatever its size. The remaining bytes are shared
 * equally; unused shares go to the other chats, the longest waiting first.
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
    const share = largestShare(wanted, room);
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
      take(index, Math.min(share, room));
    }
    const sinceOf = (index: number): number => waitingSince(chats[index]!) ?? Infinity;
    for (const index of [...chats.keys()].toSorted((a, b) => sinceOf(a) - sinceOf(b))) take(index, room);
  }
  return chats.flatMap(({ pulled }, index) => {
    const messages = pulled.messages.slice(0, counts[index]);
    return messages.length > 0 || pulled.gap ? [{ ...pulled, messages }] : [];
  });
}
