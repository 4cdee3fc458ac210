import { randomBytes } from 'node:crypto';
import type { RedisClient, Telemetry } from '@mortise/redis';
import { requireClient, SafeTelemetry, WaiterHub } from '@mortise/redis';
import type { FileChannelKeys } from './keys.js';
import { FilesKeys } from './keys.js';

/** Shared by all services of a sender, a receiver or a channel. */
export interface FilesContext {
  readonly redis: RedisClient;
  readonly channel: string;
  readonly keys: FilesKeys;
  readonly channelKeys: FileChannelKeys;
  readonly hub: WaiterHub;
  readonly telemetry: SafeTelemetry | undefined;
}

/** Throws TypeError or RangeError for wrong arguments. */
export function filesContext(
  redis: RedisClient,
  channel: string,
  { prefix, telemetry }: { readonly prefix?: string | undefined; readonly telemetry?: Telemetry | undefined },
): FilesContext {
  const keys = new FilesKeys(prefix);
  return {
    redis: requireClient(redis),
    channel,
    keys,
    channelKeys: keys.channel(channel),
    hub: WaiterHub.of(redis),
    // There are too many names of channels and files for a metric.
    telemetry: SafeTelemetry.of(telemetry, {
      'messaging.system': 'mortise',
      'mortise.messaging.kind': 'file',
    }),
  };
}

/**
 * A listed file. Numbers start at 1 again when a channel is forgotten and created again, with another epoch. After a
 * failover has lost a file's entry, another file gets its number, with another `fileId`.
 */
export interface FileId {
  readonly number: number;
  readonly epoch: string;
  readonly fileId: string;
}

/** A wake-up may be lost, so a waiting process looks again after this time, ms. */
export const RECHECK_MS = 5_000;

const RANDOM_BYTES = 9;

/** 72 random bits: a unique id of a channel or file. */
export function randomId(): string {
  return randomBytes(RANDOM_BYTES).toString('base64url');
}
