import type { RedisClient, SafeTelemetry, WaiterHub } from '@mortise/redis';
import type { MessagingKeys } from '../keys.js';
import type { MailboxLimits } from '../resolve-options.js';

/** Shared by the services of `Mailboxes`. */
export interface MailboxesContext {
  readonly redis: RedisClient;
  readonly keys: MessagingKeys;
  readonly limits: MailboxLimits;
  readonly hub: WaiterHub;
  readonly telemetry: SafeTelemetry | undefined;
}
