import type { RedisClient } from '@mortise/redis';
import type { ChatKeys } from '../keys.js';
import { followPage } from '../scripts.gen.js';

/** A range of a log, as stored. */
export interface Page {
  readonly epoch: number;
  /** The newest id at the time of the read. */
  readonly lastId: number;
  /** No entry up to this id is stored. */
  readonly base: number;
  /** Consecutive entries after the requested id, or after the base. */
  readonly entries: readonly string[];
}

/** Limits of a page; one entry may exceed the bytes. */
const MAX_ENTRIES = 64;
const MAX_BYTES = 262_144;

/** The stored entries after an id. One round trip, O(entries). Undefined when there is no chat. */
export async function readPage(
  redis: RedisClient,
  { chat, log }: ChatKeys,
  after: number,
): Promise<Page | undefined> {
  const reply = await followPage.run(
    redis,
    { chat, log },
    { after, maxEntries: MAX_ENTRIES, maxBytes: MAX_BYTES },
  );
  const [epoch, lastId, base, ...entries] = reply as [number?, number?, number?, ...string[]];
  return epoch === undefined ? undefined : { epoch, lastId: lastId!, base: base!, entries };
}
