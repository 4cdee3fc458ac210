/** How a path is sent: as which file, by what the channel knows of it; and again, when Redis has forgotten it. */
import { requireName } from '@mortise/redis';
import type { FilesContext } from './files-context.js';
import { FileAbortedError, FileForgottenError, SourceChangedError } from '../errors.js';
import { persist } from '../persist.js';
import { CHUNK_HEADER_BYTES } from './chunk.js';
import type { FileSending } from './file-sending.js';
import { memberBytesFor } from './gzip-members.js';
import { HeldPaths } from './held-paths.js';
import type { LeftFile } from './left-files.js';
import { LeftFiles } from './left-files.js';
import { OpenedPath } from './opened-path.js';
import type { Following } from './opened-path.js';
import type { FileSenderLimits, SendFileOptions } from './options.js';
import { packed } from './packing.js';
import type { Packing } from './packing.js';
import { partOf } from './path-parts.js';
import type { PathRecord } from './path-records.js';
import { format, identityIn, lookUp, note, pathKey } from './path-records.js';
import type { Path } from './paths.js';
import { pathOf, pathText, renaming } from './paths.js';
import { findRenamed } from './renamed-paths.js';
import type { RunningSends } from './running-sends.js';
import type { SentFile } from './sent-file.js';
import { drawn } from './sent-file.js';
import type { SendAgain, SentFiles } from './sent-files.js';

type PathOptions = Pick<SendFileOptions, 'follow' | 'signal' | 'onListed' | 'onProgress'> & {
  readonly waiting?: AbortSignal;
  /** A sender that is gone has left it, and its path is not followed. */
  readonly isLeft?: boolean;
};

/** The file that a path, or a part of it, is sent as. */
interface PartFile {
  readonly name: string;
  readonly id: string;
  readonly packing: Packing;
  readonly from: number;
  readonly to: number;
  /** Of a path that is told by what it is, and not by an id of the caller's. */
  readonly known?: { readonly key: string; readonly seen: string; readonly record: PathRecord };
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

  /** What `call` resolves to; sees to files that were left meanwhile. */
  async during<Result>(call: () => Promise<Result>): Promise<Result> {
    return this.#left.during(call);
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
    const opened = held ?? (await open(path, options, look));
    const kept: OpenedPath[] = [];
    try {
      await look();
      for (;;) {
        signal?.throwIfAborted();
        await opened.look();
        const sent =
          id === undefined
            ? await this.#sendKnown(opened, path, name, packing, options)
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
    path: Path,
    name: string,
    packing: Packing,
    options: PathOptions,
  ): Promise<SentFile | 'more' | undefined> {
    const { host, quietMs } = this.#limits;
    const found = await lookUp(this.#context, pathKey(host, opened.identity));
    const place = { packing, host, path: pathText(path), isGzip: isGzip(name, packing) };
    const { key, record, seen, isSent, abandoned } = await partOf(opened, found, place);
    if (abandoned !== undefined) {
      await this.#abort(abandoned, 'its source was truncated, or written anew', options.signal);
    }
    const { id, from, to } = record;
    const part = { name, id, packing, from, to: Infinity, known: { key, seen, record } };
    if (!isSent) {
      const sent = await this.#sendPart(opened, path, part, options);
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
    this.#sent.add(sent, this.#again(path, { ...part, to: to! }));
    return sent;
  }

  /** Whether there is more of a path than another sender has sent of it, for which this one has waited. */
  async #isLonger({ size }: OpenedPath, { id, known }: PartFile): Promise<boolean> {
    const found = await lookUp(this.#context, known!.key);
    return found !== undefined && (found.record.id !== id || found.record.to! < size);
  }

  /** `more`: it was sent as far as was noted before, and what the path has grown by is another file. */
  async #sendPart(
    opened: OpenedPath,
    path: Path,
    part: PartFile,
    { follow, isLeft = false, ...stops }: PathOptions,
  ): Promise<SentFile | 'more' | undefined> {
    const { name, id, packing, from, to, known } = part;
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
    const plain = (): AsyncIterable<Buffer> => opened.read(from, to, name, following);
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
      isNamed: known === undefined,
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
        this.#sent.add(sent, isWhole ? this.#again(path, { ...part, to: sentTo }) : undefined);
        return noted !== undefined && (follow || opened.size > noted) ? 'more' : sent;
      } catch (error) {
        if (known) this.#left.expect();
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
      const { known, name } = part;
      const at = known ? await findRenamed(path, identityIn(known.key)) : path;
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
  async #sendOn(
    { key, record, stored, listed }: LeftFile,
    at: Path,
    { follow, ...stops }: Pick<PathOptions, 'signal' | 'waiting' | 'follow'>,
  ): Promise<void> {
    const { id, from, to = from, packing, print } = record;
    const path = pathOf(record.path);
    const opened = await OpenedPath.open(at, path);
    try {
      if (opened.identity !== identityIn(key) || !(await opened.hasPrint(print, to))) {
        await this.#abort(id, 'its source was written anew', stops.waiting);
        return;
      }
      const known = { key, seen: stored, record };
      const part = { name: listed.name, id, packing, from, to: Infinity, known };
      const following = follow ? { follow } : { follow: FOREVER, isLeft: true };
      let sent = await this.#sendPart(opened, at, part, { ...stops, ...following });
      // The file that is finished is closed, so receivers may take it before it is looked up: then it has to be looked up again.
      if (sent !== 'more') return;
      while (sent === 'more' || sent === undefined) {
        await opened.look();
        sent = await this.#sendKnown(opened, at, listed.name, packing, { ...stops, ...following });
      }
    } finally {
      if (follow) this.#held.hold(path, opened.takeNext(), follow);
      await opened.close();
    }
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

/** With `follow`, what was sent is waited for until it changes; false when it won't: the signal says so, or it was rotated. */
async function changes(
  opened: OpenedPath,
  { follow, signal, isLeft = false }: PathOptions,
  quietMs: number,
): Promise<boolean> {
  if (!follow) return false;
  const stop = signal ? AbortSignal.any([follow, signal]) : follow;
  while (!stop.aborted) {
    const isLast = await opened.isDeserted({ follow, quietMs, isLeft });
    if (await opened.hasChanged()) return true;
    if (isLast) return false;
    await opened.change(stop, quietMs);
  }
  signal?.throwIfAborted();
  return false;
}

/** With `follow`, waits until something stands there; `look` sees to what stood there. */
async function open(
  path: Path,
  { follow, signal }: PathOptions,
  look: () => Promise<void>,
): Promise<OpenedPath> {
  for (;;) {
    try {
      return await OpenedPath.open(path);
    } catch (error) {
      const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT';
      if (!isMissing || !follow || follow.aborted) throw error;
    }
    await look();
    await renaming(path, signal ? AbortSignal.any([follow, signal]) : follow);
    signal?.throwIfAborted();
  }
}
