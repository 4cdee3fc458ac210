/** The state of a channel for operators: which bytes it holds, and for whom. It takes no lease, so it disturbs no receiver. */
import { callRedis, decodeName, encodeName } from '@mortise/redis';
import type { FilesContext } from '../context.js';
import type { FileHead } from '../file-head.js';
import { readHead } from '../file-head.js';
import type { FileKeys } from '../keys.js';
import type { ListedEntry, ListedFile } from '../listed-file.js';
import { fileOf, listedEntries } from '../listed-file.js';
import type { ChannelReceiver } from '../receivers.js';
import { receiversOf } from '../receivers.js';
import { ackedBytesOf } from './acked-bytes.js';

/** A receiver that is not done with a file. */
export interface PendingReceiver {
  readonly receiver: string;
  /** The receiver has acked all bytes before this one. */
  readonly ackedBytes: number;
}

/** A listed file, its bytes in Redis, and the receivers that it waits for. */
export interface ChannelFile extends ListedFile {
  /** Bytes in Redis, headers of chunks included. */
  readonly storedBytes: number;
  /** The number of receivers that are not done with the file. */
  readonly pending: number;
  /** The slowest of these receivers, the slowest first; ten at most. */
  readonly slowest: readonly PendingReceiver[];
}

/** A channel with a page of its files. */
export interface ChannelStatus {
  /** Whether the channel takes no more files. */
  readonly isEnded: boolean;
  /** The number of listed files, which some receiver is not done with. */
  readonly listed: number;
  /** Bytes of all listed files in Redis, headers of chunks included. */
  readonly storedBytes: number;
  /** The receivers, sorted by name. */
  readonly receivers: readonly ChannelReceiver[];
  /** The files of the page, by ascending numbers. */
  readonly files: readonly ChannelFile[];
}

interface Opened {
  readonly entry: ListedEntry;
  readonly keys: FileKeys;
  readonly head: FileHead | undefined;
}

const MAX_SLOWEST = 10;

export async function channelStatus(
  context: FilesContext,
  { after, limit }: { readonly after: number; readonly limit: number },
): Promise<ChannelStatus> {
  const { redis, channel, channelKeys } = context;
  const [ended, entries, receivers] = await Promise.all([
    callRedis(redis, 'hexists', [channelKeys.head, 'ended']),
    listedEntries(context),
    receiversOf(context),
  ]);
  const all: Opened[] = await Promise.all(
    entries.map(async (entry) => {
      const keys = context.keys.file(channel, entry.number, entry.fileId);
      return { entry, keys, head: await readHead(redis, keys) };
    }),
  );
  const page = all.filter(({ entry }) => entry.number > after).slice(0, limit);
  const names = receivers.map(({ receiver }) => receiver);
  return {
    isEnded: ended === 1,
    listed: entries.length,
    storedBytes: all.reduce((sum, { head }) => sum + storedBytesOf(head), 0),
    receivers,
    files: await Promise.all(page.map(async (opened) => channelFile(context, opened, names))),
  };
}

function storedBytesOf(head: FileHead | undefined): number {
  return head ? head.stored - head.freedBytes : 0;
}

async function channelFile(
  { redis, channelKeys }: FilesContext,
  { entry, keys, head }: Opened,
  names: readonly string[],
): Promise<ChannelFile> {
  const marks = names.map((name) => `${entry.number}:${encodeName(name)}`);
  const [isDone, cursors] = (await Promise.all([
    marks.length === 0 ? [] : callRedis(redis, 'smismember', [channelKeys.done, ...marks]),
    callRedis(redis, 'zrange', [keys.cursors, 0, MAX_SLOWEST - 1, 'WITHSCORES']),
  ])) as [number[], (string | [string, string])[]];
  const pending = names.filter((_, index) => isDone[index] !== 1);
  return {
    ...fileOf(entry, head),
    storedBytes: storedBytesOf(head),
    pending: pending.length,
    // Before the file is opened there are no cursors.
    slowest: head
      ? await slowestOf(redis, { keys, head, cursors: cursors.flat(), pending: new Set(pending) })
      : pending.slice(0, MAX_SLOWEST).map((receiver) => ({ receiver, ackedBytes: 0 })),
  };
}

async function slowestOf(
  redis: FilesContext['redis'],
  file: {
    readonly keys: FileKeys;
    readonly head: FileHead;
    /** Encoded names and positions. */
    readonly cursors: readonly string[];
    readonly pending: ReadonlySet<string>;
  },
): Promise<PendingReceiver[]> {
  const { keys, head, cursors, pending } = file;
  const found = Array.from({ length: cursors.length / 2 }, (_, index) => ({
    receiver: decodeName(cursors[2 * index]!),
    position: Number(cursors[2 * index + 1]),
  }));
  return Promise.all(
    found
      .filter(({ receiver }) => pending.has(receiver))
      .map(async ({ receiver, position }) => ({
        receiver,
        ackedBytes: await ackedBytesOf(redis, keys, head, position),
      })),
  );
}
