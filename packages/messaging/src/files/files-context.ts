import type { RedisClient, WaiterHub } from '@mortise/redis';
import type { FileChannelKeys, MessagingKeys } from '../keys.js';
import type { Tally } from '../telemetry/tally.js';

/** What all parts of a sender or receiver of files work with. */
export interface FilesContext {
  readonly redis: RedisClient;
  readonly channel: string;
  readonly keys: MessagingKeys;
  readonly channelKeys: FileChannelKeys;
  readonly hub: WaiterHub;
  /** Undefined where nobody wants it. */
  readonly tally?: Tally | undefined;
}

/**
 * A listed file. Numbers begin at 1 again when a channel is forgotten and made anew; then it has another epoch. And when a failover has forgotten
 * that a file was listed, another one gets its number; then that has another `fileId`, which its sender has drawn.
 */
export interface FileId {
  readonly number: number;
  readonly epoch: string;
  readonly fileId: string;
}

/** A wake-up may get lost: what is waited for is looked at again after so long, in ms. */
export const RECHECK_MS = 5_000;
