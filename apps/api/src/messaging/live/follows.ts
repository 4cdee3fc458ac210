import { Injectable } from '@nestjs/common';
import { Chats } from '@mortise/messaging';
import type { ChatEvents, FollowOptions } from '@mortise/messaging';
import { InjectChats } from '@mortise/messaging/nestjs';

import { Problem } from '../../problems/problem.js';

/** Opens subscriptions of members. */
@Injectable()
export class Follows {
  constructor(@InjectChats() private readonly chats: Chats) {}

  /**
   * Resolves when the subscription is open: it pushes all messages posted from then on. Throws the problem `invalid-token`,
   * and errors of Redis while it opens; later the subscription retries.
   */
  async begin(member: string, options: FollowOptions): Promise<ChatEvents> {
    const events = this.#follow(member, options);
    await events.open();
    return events;
  }

  #follow(member: string, options: FollowOptions): ChatEvents {
    try {
      return this.chats.follow(member, options);
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      throw new Problem('invalid-token', undefined, {}, { cause: error });
    }
  }
}
