/**
 * What a channel knows of a path, by its host and its identity there: how it was sent last. Beside the ids of its files, so that it lives and is forgotten with them. A path that has
 * grown since it was sent goes on as a file of its own, so each of these files is a part of it.
 *
 * A record is `<id of the file> <JSON>`. A file that was begun has no `to`. That is noted before the file is ended, so that
 * it is never missing of one that has, and never taken back; whether the file has ended is asked of that.
 */
import { createHash } from 'node:crypto';
import { filesNote, filesPath } from '../scripts.gen.js';
import { readHead } from './file-state.js';
import type { FilesContext } from './files-context.js';
import { entryOf } from './listed-file.js';
import type { Print } from './opened-path.js';
import type { Packing } from './packing.js';
import { drawn } from './sent-file.js';

const HOST_CHARACTERS = 12;

export interface PathRecord {
  /** The id of its last file. */
  readonly id: string;
  /** The first byte of the path that is in it. */
  readonly from: number;
  /** The one behind the last; or of one that is open, how far it was sent at least, where that was noted. */
  readonly to?: number;
  /** Up to `to`, or `from` where there is none. */
  readonly print: Print;
  readonly packing: Packing;
  /** Who sends it, and under which name it was when it was listed, byte for byte. */
  readonly host: string;
  readonly path: string;
  /** The file whose rest this one is, up to `from`; it may be open: this one was listed before it is ended, so that nobody forgets it. */
  readonly before?: { readonly id: string; readonly from: number };
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

/** What the keys of the paths of a host begin with: a hash of its name, which may be long. */
export function hostKey(host: string): string {
  return createHash('sha256').update(host).digest('hex').slice(0, HOST_CHARACTERS);
}

/** What a path is known by: the identities of hosts that are copies of one machine are the same for files that were copied. */
export function pathKey(host: string, identity: string): string {
  return `${hostKey(host)}-${identity}`;
}

export function newId(key: string): string {
  return `${key}:${drawn()}`;
}

/** What the path is known by, of an id that was made for one. */
export function keyIn(id: string): string | undefined {
  return /^([\da-f]{12}-\d+-\d+-\d+):[\w-]{12}$/.exec(id)?.[1];
}

/** The identity on its host. */
export function identityIn(key: string): string {
  return key.slice(HOST_CHARACTERS + 1);
}

export function format({ id, ...record }: PathRecord): string {
  const { headBytes, tailBytes, hash } = record.print;
  const { from, to, packing, host, path, before } = record;
  const of = before ? [before.id, before.from] : [];
  return `${id} ${JSON.stringify([from, to ?? null, headBytes, tailBytes, hash, packing, host, path, ...of])}`;
}

export function parse(stored: string): PathRecord {
  const space = stored.indexOf(' ');
  const [from, to, headBytes, tailBytes, hash, packing, host, path, beforeId, beforeFrom] = JSON.parse(
    stored.slice(space + 1),
  ) as [number, number | null, number, number, string, Packing, string, string, string?, number?];
  return {
    id: stored.slice(0, space),
    from,
    ...(to !== null && { to }),
    print: { headBytes, tailBytes, hash },
    packing,
    host,
    path,
    ...(beforeId !== undefined && { before: { id: beforeId, from: beforeFrom! } }),
  };
}

/** Undefined when nothing is known. One round trip, and another one for a file that is listed. */
export async function lookUp(context: FilesContext, key: string): Promise<KnownPath | undefined> {
  const { redis, channel, channelKeys, keys } = context;
  const [stored, epoch, number, entry] = (await filesPath.run(redis, channelKeys, { path: key })) as [
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

/** How far it was sent; nothing, when more of it is noted, or it is recorded as another file by now. One script. */
export async function note(context: FilesContext, key: string, record: PathRecord): Promise<void> {
  const { redis, channelKeys } = context;
  await filesNote.run(redis, channelKeys, {
    path: key,
    id: record.id,
    to: record.to!,
    record: format(record),
  });
}
