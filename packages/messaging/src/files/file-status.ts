/** What the channel says of a file and of who reads or writes it, when something of the file isn't where it should be. */
import { encodeName } from '@mortise/redis';
import type { FileId, FilesContext } from './context.js';
import { entryOf } from './listed-file.js';

/**
 * Whether Redis has forgotten that a file was listed under its number, as after a failover. One command while it is listed, three more in one round trip
 * when it is not.
 */
export async function isForgotten(context: FilesContext, file: FileId, id: string): Promise<boolean> {
  const { redis, channelKeys } = context;
  const { head, files, listed } = channelKeys;
  const { number } = file;
  const entry = (await redis.call('hget', [listed, number])) as string | null;
  if (entry !== null && isOf(file, entry)) return false;
  const [[epoch, last], ids] = (await Promise.all([
    redis.call('hmget', [head, 'epoch', 'last']),
    redis.call('zrange', [files, number, number, 'BYSCORE']),
  ])) as [[string?, string?], string[]];
  if (epoch !== file.epoch || ids.includes(encodeName(id))) return false;
  // One that was given up has left its number to nobody.
  return entry !== null || Number(last) < number || ids.length > 0;
}

/**
 * Why a receiver doesn't find a file: its lease is another's (`lost`); Redis has forgotten that the file was listed (`forgotten`); the receiver is done
 * with it, or was left out, or it is kept no longer (`over`); or it may still come (`expected`). Four commands in one round trip.
 */
export async function statusOf(
  context: FilesContext,
  reading: FileId & { receiver: string; token: number; listedAt: number; keepMs: number },
): Promise<'lost' | 'forgotten' | 'over' | 'expected'> {
  const { redis, channelKeys } = context;
  const { number, token, listedAt, keepMs } = reading;
  const receiver = encodeName(reading.receiver);
  const [[epoch, last, lease], entry, isDone, [seconds]] = (await Promise.all([
    redis.call('hmget', [channelKeys.head, 'epoch', 'last', `r:${receiver}`]),
    redis.call('hget', [channelKeys.listed, number]),
    redis.call('sismember', [channelKeys.done, `${number}:${receiver}`]),
    redis.call('time', []),
  ])) as [(string | null)[], string | null, number, [string]];
  if (lease && !lease.startsWith(`${token}:`)) return 'lost';
  if (epoch !== reading.epoch) return 'over';
  if (entry === null) return Number(last) < number ? 'forgotten' : 'over';
  if (!isOf(reading, entry)) return 'forgotten';
  return isDone === 1 || Number(seconds) * 1_000 > listedAt + keepMs ? 'over' : 'expected';
}

function isOf(file: FileId, entry: string): boolean {
  return entryOf(file.number, entry).fileId === file.fileId;
}
