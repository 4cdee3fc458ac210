/** How a path is sent: as which file, by what the channel knows of it; and again, when Redis has forgotten it. */
import { requireName } from '@mortise/redis';
import { FileForgottenError, SourceChangedError } from '../errors.js';
import { CHUNK_HEADER_BYTES } from './chunk.js';
import type { FileSending } from './file-sending.js';
import type { FilesContext } from './files-context.js';
import { memberBytesFor } from './gzip-members.js';
import type { LeftFile } from './left-files.js';
import { findRenamed, LeftFiles } from './left-files.js';
import { OpenedPath } from './opened-path.js';
import type { Path } from './opened-path.js';
import type { FileSenderLimits, SendFileOptions } from './options.js';
import { packed } from './packing.js';
import type { Packing } from './packing.js';
import { partOf, pathText } from './path-parts.js';
import type { PathRecord } from './path-records.js';
import { format, lookUp, note } from './path-records.js';
import type { RunningSends } from './running-sends.js';
import type { SentFile } from './sent-file.js';
import { drawn } from './sent-file.js';
import type { SendAgain, SentFiles } from './sent-files.js';

type PathOptions = Pick<SendFileOptions, 'follow' | 'signal' | 'onListed' | 'onProgress'> & {
  readonly waiting?: AbortSignal;
};

/** The file that a path, or a part of it, is sent as. */
interface PartFile {
  readonly name: string;
  readonly id: string;
  readonly packing: Packing;
  readonly from: number;
  readonly to: number;
  /** Of a path that is told by what it is, and not by an id of the caller's. */
  readonly known?: { readonly identity: string; readonly seen: string; readonly record: PathRecord };
}

export type AbortFile = (id: string, reason: string, signal: AbortSignal | undefined) => Promise<unknown>;

export class PathSending {
  readonly #context: FilesContext;
  readonly #limits: FileSenderLimits;
  readonly #sending: FileSending;
  readonly #running: RunningSends;
  readonly #sent: SentFiles;
  readonly #left: LeftFiles;
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
    this.#left = new LeftFiles(context, limits.host, {
      isRunning: (id) => running.has(id),
      sendOn: async (file, path, stops) => this.#sendOn(file, path, stops),
      abort,
    });
  }

  /** As `FileSender.send`; the id is the caller's, or undefined. */
  async send(
    path: Path,
    name: string,
    packing: Packing,
    { id, ...options }: PathOptions & Pick<SendFileOptions, 'id'>,
  ): Promise<SentFile> {
    const { signal } = options;
    if (id === undefined) await this.#left.look(signal);
    else requireName('id', id);
    for (;;) {
      signal?.throwIfAborted();
      const opened = await OpenedPath.open(path);
      try {
        const sent =
          id === undefined
            ? await this.#sendKnown(opened, path, name, packing, options)
            : await this.#sendPart(opened, path, { name, id, packing, from: 0, to: Infinity }, options);
        if (sent) return sent;
      } finally {
        await opened.close();
      }
    }
  }

  async #sendKnown(
    opened: OpenedPath,
    path: Path,
    name: string,
    packing: Packing,
    options: PathOptions,
  ): Promise<SentFile | undefined> {
    const { identity } = opened;
    const found = await lookUp(this.#context, identity);
    const place = { packing, host: this.#limits.host, path: pathText(path), isGzip: name.endsWith('.gz') };
    const { record, seen, isSent, abandoned } = await partOf(opened, found, place);
    if (abandoned !== undefined) {
      await this.#abort(abandoned, 'its source was truncated, or written anew', options.signal);
    }
    const { id, from, to } = record;
    const part = { name, id, packing, from, to: Infinity, known: { identity, seen, record } };
    if (!isSent) return this.#sendPart(opened, path, part, options);
    if (await changes(opened, options)) return undefined;
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

  async #sendPart(
    opened: OpenedPath,
    path: Path,
    part: PartFile,
    { follow, ...stops }: PathOptions,
  ): Promise<SentFile | undefined> {
    const { name, id, packing, from, to, known } = part;
    const { windowBytes, chunkBytes } = this.#limits;
    const sizeBytes = Math.min(opened.size, to) - from;
    const content = {
      pieces: () => packed(opened.read(from, to, name, follow), packing, name, memberBytesFor(this.#limits)),
      ...(known && {
        onEnd: async () => {
          const record = { ...known.record, to: opened.position, print: opened.printRead() };
          await note(this.#context, known.identity, record);
        },
      }),
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
    let seen = known?.seen;
    for (;;) {
      const failure = new AbortController();
      const record = known && { identity: known.identity, seen: seen!, record: format(known.record) };
      try {
        const sent = await this.#running.run(wanted, failure, async () =>
          this.#sending.send({ ...wanted, path: record }, content, { ...stops, failure: failure.signal }),
        );
        if (!sent) return undefined;
        const isWhole = known !== undefined || !follow;
        const sentTo = known && !sent.isDuplicate ? opened.position : to;
        this.#sent.add(sent, isWhole ? this.#again(path, { ...part, to: sentTo }) : undefined);
        return sent;
      } catch (error) {
        if (known) this.#left.expect();
        if (!(error instanceof FileForgottenError) || this.#sent.hasTold(error)) throw error;
        // The record may be forgotten as well.
        if (known) seen = (await lookUp(this.#context, known.identity))?.stored ?? '';
      }
    }
  }

  /** The same bytes, under the same id. */
  #again(path: Path, part: PartFile): SendAgain {
    return async (stop) => {
      const { known, name } = part;
      const at = known ? await findRenamed(path, known.identity) : path;
      if (at === undefined) throw new SourceChangedError(name, 'its path names another file');
      const opened = await OpenedPath.open(at);
      try {
        const found = known && (await lookUp(this.#context, known.identity));
        // What was sent of it since has its own record.
        const isNewest = known && (!found || found.record.id === part.id);
        const { known: _, ...plain } = part;
        const again = isNewest ? { ...part, known: { ...known, seen: found?.stored ?? '' } } : plain;
        await this.#sendPart(opened, at, again, stop);
      } finally {
        await opened.close();
      }
    };
  }

  /** What another process has begun, from where the file is now. */
  async #sendOn(
    { identity, record: noted, stored, listed }: LeftFile,
    path: Path,
    stops: Pick<PathOptions, 'signal' | 'waiting'>,
  ): Promise<void> {
    const { to = noted.from, ...record } = noted;
    const { id, from, packing, print } = record;
    const opened = await OpenedPath.open(path);
    try {
      if (opened.identity !== identity || !(await opened.hasPrint(print, to))) {
        await this.#abort(id, 'its source was written anew', stops.waiting);
        return;
      }
      const known = { identity, seen: stored, record };
      await this.#sendPart(
        opened,
        path,
        { name: listed.name, id, packing, from, to: Infinity, known },
        stops,
      );
    } finally {
      await opened.close();
    }
  }
}

/** Of a file that is cut into whole chunks. */
export function storedBytesOf(sizeBytes: number, chunkBytes: number): number {
  return sizeBytes + CHUNK_HEADER_BYTES * Math.ceil(sizeBytes / (chunkBytes - CHUNK_HEADER_BYTES));
}

/** With `follow`, what was sent is waited for until it changes; false when it won't: the signal says so, or the path names another file. */
async function changes(opened: OpenedPath, { follow, signal }: PathOptions): Promise<boolean> {
  if (!follow) return false;
  const stop = signal ? AbortSignal.any([follow, signal]) : follow;
  while (!stop.aborted && (await opened.isNamed())) {
    if (await opened.hasChanged()) return true;
    await opened.change(stop);
  }
  signal?.throwIfAborted();
  return false;
}
