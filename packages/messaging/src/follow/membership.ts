import type { RedisClient } from '@mortise/redis';
import type { ChatKeys } from '../keys.js';
import { ackedIdOf } from '../log/score.js';
import { followMembership } from '../scripts.gen.js';
import type { Head } from './chat-heads.js';

/** The position of a member in a chat, and the id after which they joined. */
export interface Membership {
  readonly head: Head;
  readonly cursor: number;
  /** The member joined after this id; 0 if unknown, and then nothing up to it is stored. */
  readonly joinedId: number;
  /** No entry up to this id is stored. */
  readonly baseId: number;
}

/** One round trip, O(1). Undefined when there is no chat, or the member is not in it. */
export async function readMembership(
  redis: RedisClient,
  { chat, log, joined }: ChatKeys,
  member: string,
): Promise<Membership | undefined> {
  const reply = (await followMembership.run(redis, { chat, log, joined }, { member })) as
    | [epoch: number, lastId: number, score: string, joinedId: number, baseId: number]
    | null;
  if (!reply) return undefined;
  const [epoch, lastId, score, joinedId, baseId] = reply;
  return { head: { epoch, lastId }, cursor: ackedIdOf(score), joinedId, baseId };
}
