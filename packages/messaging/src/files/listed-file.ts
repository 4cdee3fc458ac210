import { callRedis, decodeName } from '@mortise/redis';
import type { FileId, FilesContext } from './context.js';
import type { FileHead } from './file-head.js';

/** A file that was sent under an id. */
export interface SentUnderId {
  readonly number: number;
  /** Whether a receiver is not done with it. */
  readonly isListed: boolean;
  readonly name?: string;
  /** SHA-256 of the whole file, in hex. */
  readonly sha256?: string;
}

export interface ListedEntry extends FileId {
  readonly name: string;
  readonly listedAt: number;
  readonly keepMs: number;
}

/** A file of a channel that some receiver is not done with. */
export interface ListedFile extends Pick<FileId, 'number' | 'epoch'> {
  readonly name: string;
  /** When it was listed: ms since 1970, by the server's clock. */
  readonly listedAt: number;
  /** `open`: being written. `aborted`: given up by its sender. */
  readonly state: 'open' | 'closed' | 'aborted';
  /** Bytes so far. */
  readonly bytes: number;
  /** SHA-256 of a closed file, in hex. */
  readonly sha256?: string;
  /** Why it was aborted. */
  readonly reason?: string;
}

/** An entry of the list, `<bytes reserved>:<instant>:<keepMs>:<epoch>:<fileId>:<name>`. */
export function entryOf(number: number, entry: string): ListedEntry {
  const [, listedAt, keepMs, epoch, fileId, ...name] = entry.split(':');
  return {
    number,
    epoch: epoch!,
    fileId: fileId!,
    name: decodeName(name.join(':')),
    listedAt: Number(listedAt),
    keepMs: Number(keepMs),
  };
}

export function fileOf(
  { number, epoch, name, listedAt }: ListedEntry,
  head: FileHead | undefined,
): ListedFile {
  const state = head?.state ?? 'open';
  return {
    number,
    epoch,
    name,
    listedAt,
    state,
    bytes: head?.bytes ?? 0,
    ...(state === 'closed' && { sha256: head!.detail }),
    ...(state === 'aborted' && { reason: head!.detail }),
  };
}

/** All listed files of a channel, by number. One command. */
export async function listedEntries({ redis, channelKeys }: FilesContext): Promise<ListedEntry[]> {
  const found = (await callRedis(redis, 'hgetall', [channelKeys.listed])) as
    | string[]
    | Record<string, string>;
  const entries = Array.isArray(found)
    ? Array.from({ length: found.length / 2 }, (_, index) => [found[2 * index]!, found[2 * index + 1]!])
    : Object.entries(found);
  return entries
    .map(([number, entry]) => entryOf(Number(number), entry!))
    .toSorted((a, b) => a.number - b.number);
}
