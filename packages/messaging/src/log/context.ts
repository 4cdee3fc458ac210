import type { Codecs, RedisClient, SafeTelemetry, WaiterHub } from '@mortise/redis';
import type { MessagingKeys } from '../keys.js';
import type { ChatLimits, MailboxLimits } from '../resolve-options.js';

interface Context<Limits> {
  readonly redis: RedisClient;
  readonly keys: MessagingKeys;
  readonly limits: Limits;
  /** Of bodies. */
  readonly codecs: Codecs | undefined;
  readonly hub: WaiterHub;
  readonly telemetry: SafeTelemetry | undefined;
}

/** Shared by the services of `Chats`. */
export type ChatsContext = Context<ChatLimits>;

/** Shared by the services of `Mailboxes`. */
export type MailboxesContext = Context<MailboxLimits>;
