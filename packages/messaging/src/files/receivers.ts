import { callRedis, decodeName } from '@mortise/redis';
import type { FilesContext } from './context.js';

export interface ChannelReceiver {
  readonly receiver: string;
  /** Whether a process has the lease of the receiver. */
  readonly isActive: boolean;
}

/** The receivers of a channel, sorted by name. Two commands in one round trip. */
export async function receiversOf({ redis, channelKeys }: FilesContext): Promise<ChannelReceiver[]> {
  const [[seconds], leases] = (await Promise.all([
    callRedis(redis, 'time', []),
    callRedis(redis, 'zrange', [channelKeys.receivers, 0, -1, 'WITHSCORES']),
  ])) as [[string], (string | [string, string])[]];
  const flat = leases.flat();
  return Array.from({ length: flat.length / 2 }, (_, index) => ({
    receiver: decodeName(flat[2 * index]!),
    isActive: Number(flat[2 * index + 1]) > Number(seconds) * 1_000,
  })).toSorted((a, b) => (a.receiver < b.receiver ? -1 : 1));
}
