import type { RedisClient, WaiterHub } from '@mortise/redis';
import type { FileChannelKeys, MessagingKeys } from '../keys.js';

/** What all parts of a sender or receiver of files work with. */
export interface FilesContext {
  readonly redis: RedisClient;
  readonly channel: string;
  readonly keys: MessagingKeys;
  readonly channelKeys: FileChannelKeys;
  readonly hub: WaiterHub;
}

/** A wake-up may get lost: what is waited for is looked at again after so long, in ms. */
export const RECHECK_MS = 5_000;
