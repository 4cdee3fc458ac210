import type { RedisClient } from '@mortise/redis';
import type { ChatKeys } from '../keys.js';
import { followPage } from '../scripts.gen.js';

/** A stretch of a log, as it is stored. */
export interface Page {
  readonly epoch: number;
  /** Of the log when it was read. */
  readonly lastId: number;
  /** No entry up to this id is stored any more. */
  readonly base: number;
  /** With the ids that follow on the one asked for, or on the base. */
  readonly entries: readonly string[];
}

/** What a page has at most, but for one entry that is larger by itself. */
const MAX_ENTRIES = 64;
const MAX_BYTES = 262_144;

/** What is stored behind an id: one round trip, O(entries). Undefined when there is no chat. */
export async function readPage(
  redis: RedisClient,
  { chat, log }: ChatKeys,
  after: number,
): Promise<Page | undefined> {
  const reply = await followPage.run(
    redis,
    { chat, log },
    { after, most: MAX_ENTRIES, mostBytes: MAX_BYTES },
  );
  const [epoch, lastId, base, ...entries] = reply as [number?, number?, number?, ...string[]];
  return epoch === undefined ? undefined : { epoch, lastId: lastId!, base: base!, entries };
}
