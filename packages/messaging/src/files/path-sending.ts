/** How a path is sent: as which file, by what the channel knows of it; and again, when Redis has forgotten it. */
import { requireName } from '@mortise/redis';
import type { FilesContext } from './files-context.js';
import { ChannelEndedError, FileAbortedError, FileForgottenError, SourceChangedError } from '../errors.js';
import { persist } from '../persist.js';
import { CHUNK_HEADER_BYTES } from './chunk.js';
import type { FileSending } from './file-sending.js';
import { memberBytesFor } from './gzip-members.js';
import { HeldPaths } from './held-paths.js';
import type { SendOnStops } from './left-files.js';
import { LeftFiles } from './left-files.js';
import { OpenedPath } from './opened-path.js';
import type { Following } from './opened-path.js';
import type { OpenPathFile } from './open-paths.js';
import type { FileSenderLimits, SendFileOptions } from './options.js';
import { packed } from './packing.js';
import type { Packing } from './packing.js';
import { partOf } from './path-parts.js';
import { changes, openWhenThere } from './path-changes.js';
import type { PathRecord } from './path-records.js';
import { format, identityIn, keyIn, lookUp, newId, note, pathKey } from './path-records.js';
import type { Path } from './paths.js';
import { pathOf, pathText } from './paths.js';
import { findRenamed } from './renamed-paths.js';
import type { RunningSends } from './running-sends.js';
import type { SentFile } from './sent-file.js';
import { drawn } from './sent-file.js';
import type { SendAgain, SentFiles } from './sent-files.js';

type PathOptions = Pick<SendFileOptions, 'follow' | 'signal' | 'onListed' | 'onProgress'> & {
  readonly waiting?: AbortSignal;
  /** A sender that is gone has left it, and its path is not followed. */
  readonly isLeft?: boolean;
  /** Called when it is listed, and nothing will be that it has grown by. */
  readonly onLast?: (() => void) | undefined;
};

/** Where a file is, and the path under which it is recorded: another one, when it was renamed. */
interface Place {
  readonly at: Path;
  readonly path: Path;
}

/** The file that a path, or a part of it, is sent as. */
interface PartFile {
  readonly name: string;
  readonly id: string;
  readonly packing: Packing;
  readonly from: number;
  readonly to: number;
  /** Of a path that is told by what it is, and not by an id of the caller's. */
  readonly known?: { readonly key: string; readonly seen: string; readonly record: PathRecord };
  /** Of a path that is recorded as the file behind this one: what it is known by. */
  readonly endOf?: string;
}

/** Of a file that is followed until it is quiet, or its sending is stopped. */
const FOREVER = new AbortController().signal;

export type AbortFile = (id: string, reason: string, signal: AbortSignal | undefined) => Promise<unknown>;

export class PathSending {
  readonly #context: FilesContext;
  readonly #limits: FileSenderLimits;
  readonly #sending: FileSending;
  readonly #running: RunningSends;
  readonly #sent: SentFiles;
  readonly #left: LeftFiles;
  readonly #held = new HeldPaths();
  readonly #abort: AbortFile;

  constructor(
    context: FilesContext,
    limits: FileSenderLimits,
    sending: FileSending,
    running: RunningSends,
    sent: SentFiles,
    abort: AbortFile,
  ) {
    this.#context = context;
    this.#limits = limits;
    this.#sending = sending;
    this.#running = running;
    this.#sent = sent;
    this.#abort = abort;
    this.#left = new LeftFiles(context, limits.host, limits.leaseMs, {
      isRunning: (id) => running.has(id),
      sendOn: async (file, path, stops) => this.#sendOn(file, path, stops),
      abort,
    });
  }

  /** What `call` resolves to; sees to files that were left meanwhile, also to those that are at `places` now. */
  async during<Result>(call: () => Promise<Result>, places?: readonly Path[]): Promise<Result> {
    return this.#left.during(call, places);
  }

  /** Resolves when all is listed of left files that are seen to in the background; false when there was none. */
  async listed(): Promise<boolean> {
    return this.#left.listed();
  }

  /** As `FileSender.send`; the id is the caller's, or undefined. `places`: of what else is sent, where a file that was left may be. */
  async send(
    path: Path,
    name: string,
    packing: Packing,
    { id, ...options }: PathOptions & Pick<SendFileOptions, 'id'>,
    places: readonly Path[] = [],
  ): Promise<SentFile> {
    const { follow, signal } = options;
    if (id !== undefined) requireName('id', id);
    const look = async (): Promise<void> => {
      if (id === undefined) await this.#left.look({ path, follow, places }, signal);
    };
    const held = follow && id === undefined ? this.#held.take(path) : undefined;
    // Opened before: what is rotated from now on is not lost.
    const opened = held ?? (await openWhenThere(path, options, look));
    const kept: OpenedPath[] = [];
    try {
      await look();
      for (;;) {
        signal?.throwIfAborted();
        await opened.look();
        const sent =
          id === undefined
            ? await this.#sendKnown(opened, { at: path, path }, name, packing, options)
            : await this.#sendPart(opened, path, { name, id, packing, from: 0, to: Infinity }, options);
        if (sent && sent !== 'more') {
          kept.push(...opened.takeNext());
          return sent;
        }
      }
    } catch (error) {
      // Who has failed may try again, when the path may name another one.
      if (!(error instanceof FileAbortedError)) kept.push(opened);
      kept.push(...opened.takeNext());
      throw error;
    } finally {
      const isKept = follow && id === undefined && !signal?.aborted;
      if (isKept) this.#held.hold(path, kept, follow);
      const closing = new Set(isKept ? [] : kept);
      if (!isKept || !kept.includes(opened)) closing.add(opened);
      for (const file of closing) await file.close();
    }
  }

  async #sendKnown(
    opened: OpenedPath,
    { at, path }: Place,
    name: string,
    packing: Packing,
    options: PathOptions,
  ): Promise<SentFile | 'more' | undefined> {
    const { host, quietMs } = this.#limits;
    const found = await lookUp(this.#context, pathKey(host, opened.identity));
    if (found?.record.before) await this.#endBefore(opened, at, found.record, name, options.signal);
    const place = { packing, host, path: pathText(path), isGzip: isGzip(name, packing) };
    const { key, record, seen, isSent, abandoned } = await partOf(opened, found, place);
    if (abandoned !== undefined) {
      await this.#abort(abandoned, 'its source was truncated, or written anew', options.signal);
    }
    const { id, from, to } = record;
    const part = { name, id, packing, from, to: Infinity, known: { key, seen, record } };
    if (!isSent) {
      const sent = await this.#sendPart(opened, at, part, options);
      if (sent === 'more' || !sent?.isDuplicate) return sent;
      // Another sender has ended it meanwhile, or it was gone from Redis, and still listed, when it was looked up.
      const mayGoOn = (await this.#isLonger(opened, part)) || (await changes(opened, options, quietMs));
      return mayGoOn ? undefined : sent;
    }
    if (await changes(opened, options, quietMs)) return undefined;
    const { number, epoch } = found!;
    const sent = {
      name,
      id,
      number,
      epoch,
      fileId: '',
      bytes: 0,
      sha256: '',
      isDuplicate: true,
      resumedAt: 0,
    };
    this.#sent.add(sent, this.#again(at, { ...part, to: to! }));
    return sent;
  }

  /** The file that a rest was listed behind, when who listed that has died since: nobody else looks for it as long as the path names it. */
  async #endBefore(
    opened: OpenedPath,
    at: Path,
    { id, before, from, to = from, print, packing }: PathRecord,
    name: string,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    if (!(await opened.hasPrint(print, to))) {
      await this.#abort(before!.id, 'its source was truncated, or written anew', signal);
      return;
    }
    const part = { id: before!.id, from: before!.from, to: from, name, packing, endOf: keyIn(id)! };
    try {
      await this.#sendPart(opened, at, part, { ...(signal && { signal }) });
    } catch (error) {
      if (!(error instanceof FileAbortedError)) throw error;
    }
  }

  /** Whether there is more of a path than another sender has sent of it, for which this one has waited. */
  async #isLonger({ size }: OpenedPath, { id, known }: PartFile): Promise<boolean> {
    const found = await lookUp(this.#context, known!.key);
    return found !== undefined && (found.record.id !== id || found.record.to! < size);
  }

  /** `more`: it was sent as far as was noted before, and what the path has grown by is another file. */
  async #sendPart(
    opened: OpenedPath,
    at: Path,
    part: PartFile,
    { follow, isLeft = false, onLast, ...stops }: PathOptions,
  ): Promise<SentFile | 'more' | undefined> {
    const { name, id, packing, from, to, known, endOf } = part;
    const { windowBytes, chunkBytes, quietMs } = this.#limits;
    const sizeBytes = Math.min(opened.size, to) - from;
    const following: Following = { follow, quietMs, isLeft };
    let { seen = '', record } = known ?? {};
    let noted: number | undefined;
    const isWanted = (): boolean => !stops.signal?.aborted && this.#context.redis.status !== 'end';
    const noteEnd =
      known &&
      (async () => {
        const ended = { ...record!, to: opened.position, print: opened.printRead() };
        await note(this.#context, known.key, ended);
      });
    const plain = (): AsyncIterable<Buffer> => {
      onLast?.();
      return opened.read(from, to, name, following);
    };
    // The last member depends on where the source has ended: noted before it is made, it is made again of the same bytes, whatever the path has grown by.
    const upToNoted = async function* (this: PathSending): AsyncGenerator<Buffer> {
      const found = known && (await persist(isWanted, async () => lookUp(this.#context, known.key)));
      noted = found?.record.id === id ? found.record.to : undefined;
      if (noted === undefined) yield* plain();
      else yield* opened.read(from, noted, name, { follow: undefined, quietMs });
    };
    const onEnd = noteEnd && (async () => persist(isWanted, noteEnd));
    const content =
      packing === 'plain'
        ? { pieces: plain, ...(noteEnd && { onEnd: noteEnd }) }
        : {
            pieces: () => packed(upToNoted.call(this), packing, name, memberBytesFor(this.#limits), onEnd),
          };
    const wanted = {
      name,
      id,
      isNamed: known === undefined && endOf === undefined,
      fileId: drawn(),
      reserve: Math.min(
        windowBytes,
        follow || packing !== 'plain' ? windowBytes : storedBytesOf(sizeBytes, chunkBytes),
      ),
    };
    this.#sent.remove(id);
    for (;;) {
      const failure = new AbortController();
      const place = known && { key: known.key, seen, record: format(record!) };
      try {
        const sent = await this.#running.run(wanted, failure, async () =>
          this.#sending.send({ ...wanted, path: place }, content, { ...stops, failure: failure.signal }),
        );
        if (!sent) return undefined;
        const isWhole = known !== undefined || !follow;
        const sentTo = known && !sent.isDuplicate ? opened.position : to;
        this.#sent.add(sent, isWhole ? this.#again(at, { ...part, to: sentTo }) : undefined);
        return noted !== undefined && (follow || opened.size > noted) ? 'more' : sent;
      } catch (error) {
        if (known || endOf !== undefined) this.#left.expect();
        if (!(error instanceof FileForgottenError) || this.#sent.hasTold(error)) throw error;
        if (!known) continue;
        // The record may be forgotten as well; and another sender may have gone on.
        const found = await lookUp(this.#context, known.key);
        if (found && found.record.id !== id) return undefined;
        seen = found?.stored ?? '';
        record = found?.record ?? record;
      }
    }
  }

  /** The same bytes, under the same id. */
  #again(path: Path, part: PartFile): SendAgain {
    return async (stop) => {
      const { known, name, endOf = known?.key } = part;
      const at = endOf === undefined ? path : await findRenamed(path, identityIn(endOf));
      if (at === undefined) throw new SourceChangedError(name, 'its path names another file');
      const opened = await OpenedPath.open(at);
      try {
        const found = known && (await lookUp(this.#context, known.key));
        const { known: _, ...plain } = part;
        const again: PartFile =
          // What was sent of it since has its own record.
          !known || (found && found.record.id !== part.id)
            ? plain
            : {
                ...part,
                known: { ...known, seen: '', ...(found && { seen: found.stored, record: found.record }) },
              };
        await this.#sendPart(opened, at, again, stop);
      } finally {
        await opened.close();
      }
    };
  }

  /** What another process has begun, from where the file is now, until nothing more is written to it. */
  async #sendOn(file: OpenPathFile, at: Path, { follow, onLast, ...stops }: SendOnStops): Promise<void> {
    const { id, key, record, stored, listed } = file;
    const { from, to = from, packing, print, before } = record;
    const { name } = listed;
    const path = pathOf(record.path);
    const opened = await OpenedPath.open(at, path);
    try {
      if (opened.identity !== identityIn(key) || !(await opened.hasPrint(print, to))) {
        await this.#abort(id, 'its source was written anew', stops.waiting);
        return;
      }
      const finish = async (
        end: { readonly id: string; readonly from: number },
        upTo: number,
      ): Promise<void> => {
        const part = { id: end.id, from: end.from, to: upTo, name, packing, endOf: key };
        await this.#sendPart(opened, at, part, stops);
      };
      if (id !== record.id) {
        await finish(before!, from);
        return;
      }
      const options = { ...stops, onLast, ...(follow ? { follow } : { follow: FOREVER, isLeft: true }) };
      if (await this.#listRest(opened, file, stops.signal)) {
        await finish(record, to);
      } else {
        const part = { name, id, packing, from, to: Infinity, known: { key, seen: stored, record } };
        const sent = await this.#sendPart(opened, at, part, options);
        // Somebody else has it, or had: it is looked at again.
        if (!sent) this.#left.expect();
        if (sent !== 'more') return;
      }
      // What is finished is closed, so receivers may take it before it is looked up: then it has to be looked up again.
      let sent: SentFile | 'more' | undefined;
      do {
        await opened.look();
        sent = await this.#sendKnown(opened, { at, path }, name, packing, options);
      } while (sent === 'more' || sent === undefined);
    } finally {
      if (follow) this.#held.hold(path, opened.takeNext(), follow);
      await opened.close();
    }
  }

  /**
   * What a path has grown by since it was noted how far it is sent: listed before that file is ended, since nobody looks for it afterwards. Whether it is; where there is no room,
   * it is listed afterwards. Takes its part of the budget when the first byte is sent: receivers stand at the file before, and make no room.
   */
  async #listRest(
    opened: OpenedPath,
    { id, key, record, stored, listed: { name } }: OpenPathFile,
    signal: AbortSignal | undefined,
  ): Promise<boolean> {
    const { from, to, packing, host, path } = record;
    if (packing === 'plain' || to === undefined || opened.size <= to) return false;
    if (isGzip(name, packing) && !(await opened.hasMemberAt(to))) return false;
    const rest = { id: newId(key), from: to, print: await opened.print(to), packing, host, path };
    const place = { key, seen: stored, record: format({ ...rest, before: { id, from } }) };
    const wanted = { name, id: rest.id, fileId: drawn(), reserve: 0, path: place };
    return this.#sending.list(wanted, signal).catch((error: Error) => {
      if (error instanceof ChannelEndedError) return false;
      throw error;
    });
  }
}

/** Of a file that is cut into whole chunks. */
export function storedBytesOf(sizeBytes: number, chunkBytes: number): number {
  return sizeBytes + CHUNK_HEADER_BYTES * Math.ceil(sizeBytes / (chunkBytes - CHUNK_HEADER_BYTES));
}

/** The source, not only what is sent of it. */
function isGzip(name: string, packing: Packing): boolean {
  return packing === 'gzip again' || (packing === 'plain' && name.endsWith('.gz'));
}
