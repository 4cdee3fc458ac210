import type { RedisClient, WaiterHub } from '@mortise/redis';
import type { MessagingKeys } from '../keys.js';
import type { Limits } from '../options.js';
import type { Tally } from '../telemetry/tally.js';

/** What all parts of `Mailboxes` work with. */
export interface MailboxesContext {
  readonly redis: RedisClient;
  readonly keys: MessagingKeys;
  readonly limits: Limits;
  readonly hub: WaiterHub;
  readonly tally: Tally | undefined;
}
