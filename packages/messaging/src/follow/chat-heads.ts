/** Reads heads of chats and cursors of members: reads of one tick share a round trip. */
import type { RedisClient } from '@mortise/redis';
import { Coalescer, readEach } from '@mortise/redis';
import type { Read } from '@mortise/redis';
import { ackedIdOf, HEAD } from '../log/score.js';

export interface Head {
  readonly epoch: number;
  readonly lastId: number;
}

export interface HeadReply {
  /** Undefined when there is no chat. */
  readonly head: Head | undefined;
  /** The cursor of each requested member; undefined for non-members. */
  readonly cursors: (number | undefined)[];
}

/** Reads in one pipeline: 1,000 chats after an interruption are four of them. */
const MAX_BATCH = 256;

export class ChatHeads {
  readonly #reads: Coalescer<string, Read, HeadReply>;

  constructor(redis: RedisClient) {
    this.#reads = new Coalescer<string, Read, HeadReply>(
      async (_group, reads) =>
        (await readEach(redis, reads)).map((reply) => (reply instanceof Error ? reply : toReply(reply))),
      { maxBatch: MAX_BATCH },
    );
  }

  /** @param members Encoded names. */
  read(chatKey: string, members: readonly string[]): Promise<HeadReply> {
    return this.#reads.submit('', ['zmscore', chatKey, HEAD.epoch, HEAD.lastId, ...members]);
  }
}

function toReply(reply: unknown): HeadReply {
  const [epoch, lastId, ...scores] = reply as (string | number | null)[];
  return {
    head: epoch == null ? undefined : { epoch: 0 - Number(epoch), lastId: 0 - Number(lastId) },
    cursors: scores.map((score) => (score == null ? undefined : ackedIdOf(score))),
  };
}
