/** Which bytes of a path are to be sent, by what the channel knows of it. */
import type { OpenedPath } from './opened-path.js';
import type { Packing } from './packing.js';
import type { KnownPath, PathRecord } from './path-records.js';
import { newId, pathKey } from './path-records.js';

export interface PathPart {
  /** Under which it is recorded. */
  readonly key: string;
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
 *
 * How far a file was sent may be noted before it is ended, by who is about to, or was killed then: that stays as it is until more is noted.
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
  const key = pathKey(host, opened.identity);
  const begun = { key, seen: known?.stored ?? '', isSent: false, abandoned: undefined };
  const anew = async (from: number, id = newId(key)): Promise<PathRecord> => ({
    id,
    from,
    print: await opened.print(from),
    packing,
    host,
    path,
  });
  if (!known) return { ...begun, record: await anew(0) };
  const { record, isSent, number } = known;
  const { id, from, to = from, print } = record;
  const isSame = await opened.hasPrint(print, to);
  if (isSent) {
    if (isSame && opened.size === to) return { ...begun, record, isSent };
    const goesOn = isSame && (!isGzip || (await opened.hasMemberAt(to)));
    return { ...begun, record: await anew(goesOn ? to : 0) };
  }
  if (!isSame) return { ...begun, record: await anew(0), abandoned: id };
  // Nothing is there of what was noted of one that was aborted.
  if (number === 0) return { ...begun, record: await anew(from, id) };
  return { ...begun, record: { ...record, packing, host, path } };
}
