/** Which bytes of a path are to be sent, by what the channel knows of it. */
import { resolve } from 'node:path';
import type { OpenedPath, Path } from './opened-path.js';
import type { Packing } from './packing.js';
import type { KnownPath, PathRecord } from './path-records.js';
import { newId } from './path-records.js';

export interface PathPart {
  readonly identity: string;
  /** As it is stored, or was when it was looked up: '' for none. */
  readonly seen: string;
  readonly record: PathRecord;
  /** All of the path was sent, and it is as it was. */
  readonly isSent: boolean;
  /** The file of what the path was before, which cannot be sent to its end any more. */
  readonly abandoned: string | undefined;
}

/**
 * What was sent, and is as it was, is not sent again; what has grown goes on behind what was sent; a file that was begun is gone on with. What is shorter than
 * what was sent of it, or begins or goes on with something else there, is another file, all of it. So is gzip that has grown, unless by a member.
 */
export async function partOf(
  opened: OpenedPath,
  known: KnownPath | undefined,
  place: {
    readonly packing: Packing;
    readonly host: string;
    readonly path: string;
    readonly isGzip: boolean;
  },
): Promise<PathPart> {
  const { packing, host, path, isGzip } = place;
  const { identity, size } = opened;
  const begun = { identity, seen: known?.stored ?? '', isSent: false, abandoned: undefined };
  const anew = async (from: number): Promise<PathRecord> => ({
    id: newId(identity),
    from,
    print: await opened.print(from),
    packing,
    host,
    path,
  });
  if (!known) return { ...begun, record: await anew(0) };
  const { record, isSent } = known;
  const { id, from, to = from, print } = record;
  const isSame = await opened.hasPrint(print, to);
  if (isSent) {
    if (isSame && size === to) return { ...begun, record, isSent };
    const goesOn = isSame && (!isGzip || (await opened.hasMemberAt(to)));
    return { ...begun, record: await anew(goesOn ? to : 0) };
  }
  if (!isSame) return { ...begun, record: await anew(0), abandoned: id };
  return { ...begun, record: { id, from, print, packing, host, path } };
}

/** A path as a record has it: absolute, a character for each byte. */
export function pathText(path: Path): string {
  return (typeof path === 'string' ? Buffer.from(resolve(path)) : path).toString('latin1');
}

export function pathOf(recorded: string): Path {
  const bytes = Buffer.from(recorded, 'latin1');
  const text = bytes.toString();
  return Buffer.from(text).equals(bytes) ? text : bytes;
}
