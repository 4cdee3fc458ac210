/** Sends one file: lists it, writes its chunks under a lease, and ends it. */
import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { callRedis, encodeName, LeaseLostError, withoutLink } from '@mortise/redis';
import { FileAbortedError, FileForgottenError, SourceChangedError } from '../errors.js';
import { FILE_BYTES, FILE_CHUNKS, FILE_WAITS, SENT } from '../metrics.js';
import type { ChannelList, Listed } from './channel-list.js';
import { ChunkFiller } from './chunk-filler.js';
import { CHUNK_HEADER_BYTES } from '../chunk.js';
import { readHead } from '../file-head.js';
import { FileWriter } from './file-writer.js';
import type { FileId, FilesContext } from '../context.js';
import type { FileSenderLimits, SendFileOptions } from '../options.js';
import type { SentFile, WantedFile } from './sent-file.js';
import type { SentFiles } from './sent-files.js';
import type { Completion } from '../completion.js';
import { isForgotten } from '../file-status.js';

const FOR_WINDOW = { 'mortise.messaging.room': 'window' };
/** Beyond the known size of a file: a chunk that is being filled, and one for growth. */
const SPARE_CHUNKS = 2;

/** The bytes of the file from its beginning; called once. */
export type Pieces = () => AsyncIterable<Uint8Array | string>;

export interface TransferStops {
  /** The caller's signal: the file stays open. */
  readonly signal?: AbortSignal | undefined;
  /** Aborts the file; the reason is the error of its source, or of `abort`. */
  readonly failure: AbortSignal;
  readonly onListed?: SendFileOptions['onListed'] | undefined;
  readonly onProgress?: SendFileOptions['onProgress'] | undefined;
}

export class Transfer {
  readonly #context: FilesContext;
  readonly #limits: FileSenderLimits;
  readonly #list: ChannelList;
  readonly #completion: Completion;
  readonly #sent: SentFiles;

  constructor(
    context: FilesContext,
    limits: FileSenderLimits,
    list: ChannelList,
    completion: Completion,
    sent: SentFiles,
  ) {
    this.#context = context;
    this.#limits = limits;
    this.#list = list;
    this.#completion = completion;
    this.#sent = sent;
  }

  /**
   * Resolves when the file is sent, now or before; undefined if an aborted file had its id and the caller must try again.
   * Throws as `FileSender.send`.
   */
  async send(wanted: WantedFile, pieces: Pieces, stops: TransferStops): Promise<SentFile | undefined> {
    const { id } = wanted;
    const { signal, failure } = stops;
    const stop = signal ? AbortSignal.any([signal, failure]) : failure;
    const listed = await this.#list.add(wanted, stop);
    if (!listed) return undefined;
    const { name, number, epoch, fileId, reserved, isFinished } = listed;
    const file = { number, epoch, fileId };
    stops.onListed?.({ number, epoch });
    const sent = { name, id, ...file, bytes: 0, sha256: '', isDuplicate: true, resumedAt: 0 };
    if (isFinished) return sent;
    const { windowBytes, chunkBytes } = this.#limits;
    const windowOfFile = Math.min(windowBytes, reserved + SPARE_CHUNKS * chunkBytes);
    const written = { ...listed, id, windowBytes: windowOfFile };
    const writer = await FileWriter.open(this.#context, this.#limits, written, signal, stop);
    if (!writer) return (await this.#isAborted(listed, wanted)) ? undefined : sent;
    const resumedAt = writer.bytes;
    try {
      if (await this.#isOver(writer, listed, wanted)) return sent;
      const sha256 = await this.#write(writer, listed, wanted, pieces, stop, stops);
      return { ...sent, bytes: writer.bytes, sha256, isDuplicate: false, resumedAt };
    } catch (error) {
      const isDoubtful = error instanceof LeaseLostError || error instanceof FileForgottenError;
      if (!isDoubtful || this.#sent.hasThrown(error)) throw error;
      if (!(await isForgotten(this.#context, file, id))) throw error;
      await this.#clear(writer, file);
      throw new FileForgottenError(name);
    } finally {
      await writer.release();
    }
  }

  /** Whether an ended file was aborted. */
  async #isAborted(listed: Listed, wanted: WantedFile): Promise<boolean> {
    const { redis, channel, keys } = this.#context;
    const { number, fileId } = listed;
    const head = await readHead(redis, keys.file(channel, number, fileId));
    if (head?.state === 'aborted') {
      await this.#completion.freeId(listed.number);
    } else if (head) {
      // Listing it again has raised its reservation.
      await this.#list.shrink(listed, head.stored - head.freedBytes, wanted, head.detail);
    }
    return head?.state === 'aborted';
  }

  /** Whether another sender has sent the file since it was listed: then no receiver reads the opened one. */
  async #isOver(writer: FileWriter, listed: Listed, wanted: WantedFile): Promise<boolean> {
    const { receivers } = listed;
    if (receivers.length === 0 && !writer.isNew) throw await this.#givenUp(writer, listed, wanted);
    const isOver =
      receivers.length === 0 || (writer.isNew && (await this.#completion.isOver(listed, receivers)));
    if (isOver === undefined) throw new FileForgottenError(wanted.name);
    if (!isOver) return false;
    // Only this sender has listed it, so its receivers have given it up.
    if (listed.fileId === wanted.fileId && !(await this.#wasSent(wanted))) {
      throw await this.#givenUp(writer, listed, wanted);
    }
    // Closed without a byte, and not aborted, so that its id stays taken.
    await writer.close('closed', '');
    await this.#complete(listed);
    return true;
  }

  /** Deletes an ended file that no receiver needs. If all were done before its first byte, it is no longer listed. */
  async #complete(listed: Listed): Promise<void> {
    await this.#completion.finish(listed, [], '');
    await this.#completion.clear(listed, []);
  }

  /** Whether another sender, which has found the file listed, has sent it. */
  async #wasSent({ id, isNamed }: WantedFile): Promise<boolean> {
    const { redis, channelKeys } = this.#context;
    return isNamed && (await callRedis(redis, 'hexists', [channelKeys.sent, encodeName(id)])) === 1;
  }

  async #givenUp(writer: FileWriter, listed: Listed, wanted: WantedFile): Promise<FileAbortedError> {
    const error = new FileAbortedError(wanted.name, 'its receivers have given it up');
    await this.#abort(writer, listed, wanted, error);
    return error;
  }

  /** Ignores errors: the next sender of the file handles it. */
  async #abort(writer: FileWriter, listed: Listed, wanted: WantedFile, error: unknown): Promise<void> {
    const reason = error instanceof FileAbortedError ? error.reason : reasonOf(error);
    try {
      await writer.close('aborted', reason);
      await this.#completion.freeId(listed.number);
      await this.#list.shrink(listed, 0, wanted);
      await this.#complete(listed);
    } catch {
      // The next sender of the file repeats this.
    }
  }

  /** Frees the bytes of a file that is no longer listed. Ignores errors. */
  async #clear(writer: FileWriter, file: FileId): Promise<void> {
    try {
      await writer.close('aborted', 'a failover has lost that it was listed').catch(() => false);
      await this.#completion.clear(file, this.#limits.receivers);
    } catch {
      // It expires after `keepMs`.
    }
  }

  async #write(
    writer: FileWriter,
    listed: Listed,
    wanted: WantedFile,
    pieces: Pieces,
    stop: AbortSignal,
    { signal, onProgress }: TransferStops,
  ): Promise<string> {
    const { telemetry } = this.#context;
    const { name } = wanted;
    const hash = createHash('sha256');
    const filler = new ChunkFiller(pieces(), this.#limits.chunkBytes, this.#limits.lingerMs);
    const recheck = this.#list.checks(stop);
    try {
      writer.onCommitted = (chunk) => {
        telemetry?.count(FILE_CHUNKS, 1, SENT);
        telemetry?.count(FILE_BYTES, chunk.length - CHUNK_HEADER_BYTES, SENT);
        filler.recycle(chunk);
        onProgress?.({ name, bytes: writer.bytes, storedBytes: writer.storedBytes });
      };
      let crc = 0;
      const found = await filler.skipBytes(writer.bytes, (piece) => {
        crc = crc32(piece, crc);
        hash.update(piece);
      });
      if (found < writer.bytes || crc !== writer.crc) {
        throw new SourceChangedError(name, `its first ${writer.bytes} bytes are not those that were sent`);
      }
      const ending = AbortSignal.any([stop, writer.ending]);
      while (!writer.isUnread) {
        const chunk = await filler.next(ending);
        if (!chunk) break;
        hash.update(chunk.subarray(CHUNK_HEADER_BYTES));
        const isFull = !writer.hasRoomFor(chunk.length);
        const fullAt = performance.now();
        while (!writer.isUnread && !writer.hasRoomFor(chunk.length)) {
          await recheck();
          if (!writer.hasRoomFor(chunk.length)) await writer.waitForRoom(this.#list.recheckMs, stop);
        }
        if (isFull) telemetry?.record(FILE_WAITS, (performance.now() - fullAt) / 1_000, FOR_WINDOW);
        if (!writer.isUnread) await writer.write(chunk);
      }
      await writer.flush();
      if (writer.isUnread) throw await this.#givenUp(writer, listed, wanted);
      const sha256 = hash.digest('hex');
      await writer.close('closed', sha256);
      await this.#list.shrink(listed, writer.storedBytes, wanted, sha256).catch(() => undefined);
      // If this fails, the head expires, and a later check by `SentFiles` repeats it.
      if (writer.isUnread) await this.#complete(listed).catch(() => undefined);
      return sha256;
    } catch (error) {
      const isStopped = (signal?.aborted && error === signal.reason) || this.#sent.hasThrown(error);
      if (!isStopped && !writer.isLost && !writer.isUnread) await this.#abort(writer, listed, wanted, error);
      throw error;
    } finally {
      await filler.stop();
    }
  }
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? withoutLink(error.message) : String(error);
}
