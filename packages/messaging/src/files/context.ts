import { randomBytes } from 'node:crypto';
import type { RedisClient, Telemetry } from '@mortise/redis';
import { requireClient, requireObject, SafeTelemetry, WaiterHub } from '@mortise/redis';
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
  options: { readonly prefix?: string | undefined; readonly telemetry?: Telemetry | undefined },
): FilesContext {
  const { prefix, telemetry } = requireObject('options', options);
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

/** A listed file. After a failover has lost its entry, another file gets its number, with another `fileId`. */
export interface FileId {
  /** Its number in the channel, from 1. */
  readonly number: number;
  /**
   * The epoch of the channel, which changes when the channel is forgotten and created again; numbers then start at 1 again.
   */
  readonly epoch: string;
  /** Unique, see `IncomingFile.fileId`. */
  readonly fileId: string;
}

/** A wake-up may be lost, so a waiting process looks again after this time, ms. */
export const RECHECK_MS = 5_000;

const RANDOM_BYTES = 9;

/** 72 random bits: a unique id of a channel or file. */
export function randomId(): string {
  return randomBytes(RANDOM_BYTES).toString('base64url');
}
