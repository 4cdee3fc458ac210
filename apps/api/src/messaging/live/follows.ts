import { Inject, Injectable } from '@nestjs/common';
import { Chats } from '@mortise/messaging';
import type { ChatEvent, FollowOptions } from '@mortise/messaging';
import { InjectChats } from '@mortise/messaging/nestjs';
import { KeySpace } from '@mortise/redis';
import type { RedisClient } from '@mortise/redis';

import type { Config } from '../../config.js';
import { Problem } from '../../problems/problem.js';
import { CONFIG, REDIS } from '../../tokens.js';

/** Begins to follow members. */
@Injectable()
export class Follows {
  readonly #chats: Chats;
  readonly #redis: RedisClient;
  readonly #keys: KeySpace;

  constructor(
    @InjectChats() chats: Chats,
    @Inject(REDIS) redis: RedisClient,
    @Inject(CONFIG) { MORTISE_PREFIX: prefix }: Config,
  ) {
    this.#chats = chats;
    this.#redis = redis;
    this.#keys = new KeySpace('api', prefix);
  }

  /** One round trip. Throws the problem `invalid-token`, and errors of Redis as long as an answer can tell of them. */
  async begin(member: string, options: FollowOptions): Promise<AsyncIterable<ChatEvent>> {
    const events = this.#follow(member, options);
    // Whether Redis answers: following begins later, and then goes on trying. Nothing has this key.
    await this.#redis.call('exists', [this.#keys.entity(`member:${member}`).key('follow')]);
    return events;
  }

  #follow(member: string, options: FollowOptions): AsyncIterable<ChatEvent> {
    try {
      return this.#chats.follow(member, options);
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      throw new Problem('invalid-token', undefined, {}, { cause: error });
    }
  }
}
