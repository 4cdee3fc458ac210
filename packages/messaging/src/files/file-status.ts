/** The channel's knowledge of a file and its reader or writer, to explain missing data. */
import { callRedis, encodeName } from '@mortise/redis';
import { Completion } from './completion.js';
import type { FileId, FilesContext } from './context.js';
import { entryOf } from './listed-file.js';

/** Whether a failover has lost the file's entry. One command for a listed file, otherwise three more in one round trip. */
export async function isForgotten(context: FilesContext, file: FileId, id: string): Promise<boolean> {
  const { redis, channelKeys } = context;
  const { head, files, listed } = channelKeys;
  const { number } = file;
  const entry = (await callRedis(redis, 'hget', [listed, number])) as string | null;
  if (entry !== null && isEntryOf(file, entry)) return false;
  const [[epoch, last], ids] = (await Promise.all([
    callRedis(redis, 'hmget', [head, 'epoch', 'last']),
    callRedis(redis, 'zrange', [files, number, number, 'BYSCORE']),
  ])) as [[string?, string?], string[]];
  if (epoch !== file.epoch || ids.includes(encodeName(id))) return false;
  // The number of an aborted file is not used again.
  return entry !== null || Number(last) < number || ids.length > 0;
}

/**
 * Whether a file without a head was ended in this state, with this SHA-256, before all receivers were done with it. Only they
 * delete a head: then the id of a complete file is still taken, and that of an aborted one is free. Another recorded SHA-256
 * belongs to a writer that has taken the file over. Two or three round trips.
 */
export async function wasEnded(
  context: FilesContext,
  file: FileId & { readonly id?: string },
  state: 'closed' | 'aborted',
  sha256: string,
): Promise<boolean> {
  const { redis, channelKeys } = context;
  if (!(await new Completion(context).isOver(file, []))) return false;
  const ids = (await callRedis(redis, 'zrange', [
    channelKeys.files,
    file.number,
    file.number,
    'BYSCORE',
  ])) as string[];
  if (state === 'aborted') return ids.length === 0;
  const id = encodeName(file.id!);
  const sent = (await callRedis(redis, 'hget', [channelKeys.sent, id])) as string | null;
  return ids.includes(id) && (sent === null || sent.startsWith(sha256));
}

/** The state of a receiver's file: see `statusOf`. */
type FileStatus = 'lost' | 'forgotten' | 'over' | 'expected';

/**
 * Why a receiver does not find a file. `lost`: another process has its lease. `forgotten`: a failover has lost the file's
 * entry. `over`: the receiver is done with it or was dropped, or the file has expired. `expected`: the file may still come.
 * Four commands in one round trip.
 */
export async function statusOf(
  context: FilesContext,
  reading: FileId & { receiver: string; token: number; listedAt: number; keepMs: number },
): Promise<FileStatus> {
  const { redis, channelKeys } = context;
  const { number, token, listedAt, keepMs } = reading;
  const receiver = encodeName(reading.receiver);
  const [[epoch, last, lease], entry, isDone, [seconds]] = (await Promise.all([
    callRedis(redis, 'hmget', [channelKeys.head, 'epoch', 'last', `r:${receiver}`]),
    callRedis(redis, 'hget', [channelKeys.listed, number]),
    callRedis(redis, 'sismember', [channelKeys.done, `${number}:${receiver}`]),
    callRedis(redis, 'time', []),
  ])) as [(string | null)[], string | null, number, [string]];
  if (lease && !lease.startsWith(`${token}:`)) return 'lost';
  if (epoch !== reading.epoch) return 'over';
  if (entry === null) return Number(last) < number ? 'forgotten' : 'over';
  if (!isEntryOf(reading, entry)) return 'forgotten';
  return isDone === 1 || Number(seconds) * 1_000 > listedAt + keepMs ? 'over' : 'expected';
}

function isEntryOf(file: FileId, entry: string): boolean {
  return entryOf(file.number, entry).fileId === file.fileId;
}
