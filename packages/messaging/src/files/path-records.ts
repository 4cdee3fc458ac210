/**
 * What a channel knows of a path, by its identity: how it was sent last. Beside the ids of its files, so that it lives and is forgotten with them. A path that has
 * grown since it was sent goes on as a file of its own, so each of these files is a part of it.
 *
 * A record is `<id of the file> <JSON>`. While the file is open the record has no `to`. That is noted before the file is ended, so that
 * it is never missing of one that has; whether it has is asked of the file.
 */
import { filesNote, filesPath } from '../scripts.gen.js';
import { readHead } from './file-state.js';
import type { FilesContext } from './files-context.js';
import { entryOf } from './listed-file.js';
import type { Print } from './opened-path.js';
import type { Packing } from './packing.js';
import { drawn } from './sent-file.js';

export interface PathRecord {
  /** The id of its last file. */
  readonly id: string;
  /** The first byte of the path that is in it. */
  readonly from: number;
  /** The one behind the last; undefined while it is open. */
  readonly to?: number;
  /** Up to `to`, or `from` of an open one. */
  readonly print: Print;
  readonly packing: Packing;
  /** Who sends it, and under which name it was when it was listed, byte for byte. */
  readonly host: string;
  readonly path: string;
}

export interface KnownPath {
  readonly record: PathRecord;
  /** As it is stored. */
  readonly stored: string;
  readonly epoch: string;
  /** 0: the channel doesn't know that there was such a file (any more). */
  readonly number: number;
  /** It has come to its end; or some of it may have to be sent. */
  readonly isSent: boolean;
}

export function newId(identity: string): string {
  return `${identity}:${drawn()}`;
}

/** The identity of a path, of which an id says that it was made for one. */
export function identityIn(id: string): string | undefined {
  return /^(\d+-\d+-\d+):[\w-]{12}$/.exec(id)?.[1];
}

export function format({ id, ...record }: PathRecord): string {
  const { headBytes, tailBytes, hash } = record.print;
  const { from, to, packing, host, path } = record;
  return `${id} ${JSON.stringify([from, to ?? null, headBytes, tailBytes, hash, packing, host, path])}`;
}

export function parse(stored: string): PathRecord {
  const space = stored.indexOf(' ');
  const [from, to, headBytes, tailBytes, hash, packing, host, path] = JSON.parse(stored.slice(space + 1)) as [
    number,
    number | null,
    number,
    number,
    string,
    Packing,
    string,
    string,
  ];
  const print = { headBytes, tailBytes, hash };
  return { id: stored.slice(0, space), from, ...(to !== null && { to }), print, packing, host, path };
}

/** Undefined when nothing is known. One round trip, and another one for a file that is listed. */
export async function lookUp(context: FilesContext, identity: string): Promise<KnownPath | undefined> {
  const { redis, channel, channelKeys, keys } = context;
  const [stored, epoch, number, entry] = (await filesPath.run(redis, channelKeys, { path: identity })) as [
    string,
    string,
    string,
    string,
  ];
  if (stored === undefined) return undefined;
  const known = { record: parse(stored), stored, epoch, number: Number(number) };
  if (entry === '') return { ...known, isSent: number !== '' };
  const { fileId } = entryOf(known.number, entry);
  const head = await readHead(redis, keys.file(channel, known.number, fileId));
  return { ...known, isSent: head?.state === 'closed' };
}

/** How far it was sent; nothing, when it is recorded as another file by now. One script. */
export async function note(context: FilesContext, identity: string, record: PathRecord): Promise<void> {
  const { redis, channelKeys } = context;
  await filesNote.run(redis, channelKeys, { path: identity, id: record.id, record: format(record) });
}
