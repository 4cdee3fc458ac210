import type { RedisClient, WaiterHub } from '@mortise/redis';
import type { MessagingKeys } from '../keys.js';
import type { ChatLimits } from '../options.js';
import type { Tally } from '../telemetry/tally.js';

/** What all parts of `Chats` work with. */
export interface ChatsContext {
  readonly redis: RedisClient;
  readonly keys: MessagingKeys;
  readonly limits: ChatLimits;
  readonly hub: WaiterHub;
  readonly tally: Tally | undefined;
}
