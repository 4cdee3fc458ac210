import type { RedisClient, SafeTelemetry, WaiterHub } from '@mortise/redis';
import type { MessagingKeys } from '../keys.js';
import type { ChatLimits } from '../resolve-options.js';

/** Shared by the services of `Chats`. */
export interface ChatsContext {
  readonly redis: RedisClient;
  readonly keys: MessagingKeys;
  readonly limits: ChatLimits;
  readonly hub: WaiterHub;
  readonly telemetry: SafeTelemetry | undefined;
}
