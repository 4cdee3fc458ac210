import type { RedisClient } from '@mortise/redis';
import type { ChatKeys } from '../keys.js';
import { ackedIdOf } from '../log/standing.js';
import { followSince } from '../scripts.gen.js';
import type { Head } from './heads.js';

/** Where a member stands, and since when they are in the chat. */
export interface Since {
  readonly head: Head;
  readonly cursor: number;
  /** The id behind which they joined; 0 where that isn't known, and then nothing up to it is stored. */
  readonly joinedId: number;
  /** No entry up to this id is stored. */
  readonly baseId: number;
}

/** One round trip, O(1). Undefined when there is no chat, or it doesn't have the member. */
export async function readSince(
  redis: RedisClient,
  { chat, log, joined }: ChatKeys,
  member: string,
): Promise<Since | undefined> {
  const reply = (await followSince.run(redis, { chat, log, joined }, { member })) as
    | [epoch: number, lastId: number, score: string, joinedId: number, baseId: number]
    | null;
  if (!reply) return undefined;
  const [epoch, lastId, score, joinedId, baseId] = reply;
  return { head: { epoch, lastId }, cursor: ackedIdOf(score), joinedId, baseId };
}
