import type { ChatEvents, Chats, FollowOptions } from '@mortise/messaging';

import { Problem } from '../../problems/problem.js';

/**
 * Opens a subscription of a member. Resolves when it is open: it pushes all messages posted from then on. Throws the problem
 * `invalid-token`, and errors of Redis while it opens; later the subscription retries.
 */
export async function openEvents(chats: Chats, member: string, options: FollowOptions): Promise<ChatEvents> {
  const events = follow(chats, member, options);
  await events.open();
  return events;
}

function follow(chats: Chats, member: string, options: FollowOptions): ChatEvents {
  try {
    return chats.follow(member, options);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new Problem('invalid-token', undefined, {}, { cause: error });
  }
}
