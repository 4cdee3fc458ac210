import { randomBytes } from 'node:crypto';
import type { RedisClient, Telemetry } from '@mortise/redis';
import { requireClient, SafeTelemetry, WaiterHub } from '@mortise/redis';
import type { FileChannelKeys } from './keys.js';
import { FilesKeys } from './keys.js';

/** What all services of a sender, a receiver or a channel work with. */
export interface FilesContext {
  readonly redis: RedisClient;
  readonly channel: string;
  readonly keys: FilesKeys;
  readonly channelKeys: FileChannelKeys;
  readonly hub: WaiterHub;
  readonly telemetry: SafeTelemetry | undefined;
}

/** Throws TypeError or RangeError for what cannot be used. */
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
    // Names of channels and files are too many for a metric.
    telemetry: SafeTelemetry.of(telemetry, {
      'messaging.system': 'mortise',
      'mortise.messaging.kind': 'file',
    }),
  };
}

/**
 * A listed file. Numbers begin at 1 again when a channel is forgotten and created again; then it has another epoch. When a failover has lost
 * that a file was listed, another one gets its number; then that has another `fileId`.
 */
export interface FileId {
  readonly number: number;
  readonly epoch: string;
  readonly fileId: string;
}

/** A wake-up may get lost, so a waiting process looks again after this time, in ms. */
export const RECHECK_MS = 5_000;

const RANDOM_BYTES = 9;

/** 72 random bits: an id that no other channel and no other file has. */
export function randomId(): string {
  return randomBytes(RANDOM_BYTES).toString('base64url');
}
