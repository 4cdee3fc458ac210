/**
 * Reads the chunks of a file from a receiver's cursor on, up to two ahead, each by one GET. One GET is under way at a time, so that Redis has one
 * reply for each receiver in memory and not more. How many chunks there are comes with the wake-ups of the writer; the head of the file is
 * read when it ends, when a chunk isn't where it should be, and in bounded time.
 */
import { ClientClosedError, encodeName } from '@mortise/redis';
import {
  FileAbortedError,
  FileCorruptError,
  FileExpiredError,
  FileLeaseLostError,
  GzipMemberTooLargeError,
} from '../errors.js';
import { persist } from '../persist.js';
import type { FileKeys } from '../keys.js';
import { fileAck, fileJoin } from '../scripts.gen.js';
import { FILE_BYTES, FILE_CHUNKS } from '../telemetry/metrics.js';
import type { OpenedChunk, Position } from './chunk.js';
import { CHUNK_HEADER_BYTES, decodePosition, encodePosition, openChunk } from './chunk.js';
import { FileNews } from './file-news.js';
import type { FileHead } from './file-state.js';
import { chunkKeys, readHead } from './file-state.js';
import type { FileId, FilesContext } from './files-context.js';
import { RECHECK_MS } from './files-context.js';

/** Chunks that are read before they are asked for. */
const AHEAD = 2;
/** What comes within so many ms is not waited for. */
const IDLE_MS = 5;
const READ = { 'mortise.messaging.direction': 'read' };

/** The file that is read, and by whom. */
export interface Reading extends FileId {
  readonly name: string;
  /** When the file was listed, and how long it is kept, by the server's clock. */
  readonly listedAt: number;
  readonly ttlMs: number;
  readonly receiver: string;
  readonly token: number;
  /** Where to begin; default: at the cursor of the receiver. */
  readonly from?: Position | undefined;
  /** Aborted when the receiver ends, or has lost its lease. */
  readonly signal: AbortSignal;
}

export class ChunkReader {
  /** Of the file; known when it has ended. */
  sha256: string | undefined;
  /** Of a compressed file: bytes of inflated text that were acked, and how many of them lie before the cursor; undefined when none was acked. */
  acked: { readonly textBytes: number; readonly textBase: number } | undefined;
  /** Called when the reader has waited for some ms, and is about to wait longer. */
  onIdle: () => void = () => undefined;
  /** Where reading began, in bytes of the file as it was sent. */
  startOffset = 0;
  /** What may be read of the file before something of it is acked. */
  leewayBytes = 0;
  readonly #context: FilesContext;
  readonly #reading: Reading;
  readonly #keys: FileKeys;
  readonly #news: FileNews;
  #head!: Pick<FileHead, 'chunks' | 'state' | 'segments' | 'detail'>;
  #freed = 0;
  #windowBytes = 0;
  #chunkBytes = 0;
  /** What lies behind this byte is needed together: it can't be acked in parts. */
  #pinnedAt: number | undefined;
  /** The chunks that have been read since the cursor: index, offset of the first byte, bytes. */
  #read: { index: number; offset: number; bytes: number }[] = [];
  #begin = { chunk: 0, bytes: 0 };
  #acked = 0;
  #getting: Promise<unknown> = Promise.resolve();
  #crc: number | undefined;
  #offset = 0;

  private constructor(context: FilesContext, reading: Reading, news: FileNews) {
    this.#context = context;
    this.#reading = reading;
    this.#keys = context.keys.file(context.channel, reading.number, reading.epoch);
    this.#news = news;
  }

  /** The beginning of the file was passed, and may be gone. */
  get isBehindStart(): boolean {
    return this.#begin.chunk > 0 || this.#begin.bytes > 0;
  }

  /** Waits until the file is there. One round trip, and the subscription. */
  static async open(context: FilesContext, reading: Reading): Promise<ChunkReader> {
    const { events } = context.keys.file(context.channel, reading.number, reading.epoch);
    const news = await FileNews.open(context.hub, events);
    const reader = new ChunkReader(context, reading, news);
    try {
      await reader.#join();
      return reader;
    } catch (error) {
      news.close();
      throw error;
    }
  }

  /** The parts of the file from the cursor on. Ends with the file. Throws ERR_FILE_ABORTED, ERR_FILE_CORRUPT, ERR_FILE_EXPIRED. */
  async *parts(): AsyncGenerator<Buffer> {
    let { chunk: index, bytes: skipped } = this.#begin;
    const ahead: Promise<Buffer | null>[] = [];
    for (; await this.#isThere(index); index += 1) {
      this.#getAhead(ahead, index);
      const value = (await ahead.shift()) || (await this.#getAgain(index));
      this.#getAhead(ahead, index + 1);
      const part = this.#check(index, value).subarray(skipped);
      skipped = 0;
      if (part.length > 0) yield part;
    }
  }

  /**
   * Moves the cursor behind so many bytes of the file, counted from its beginning, and frees what all have passed. With `text`, notes how
   * many bytes of inflated text are acked, and how many of them lie before `offset`, where a member of gzip begins. Repeating it is safe. One script.
   */
  async ack(offset: number, text?: { textBytes: number; textBase: number }): Promise<void> {
    const { redis, hub, channel } = this.#context;
    const { receiver, token, name } = this.#reading;
    const score = Math.max(this.#acked, encodePosition(this.#positionOf(offset)));
    const to = decodePosition(score).chunk;
    const reply = await this.#persist(
      async () =>
        (await fileAck.run(
          redis,
          {
            file: this.#keys.file,
            cursors: this.#keys.cursors,
            events: this.#keys.events,
            chunks: chunkKeys(this.#keys, this.#head.segments, this.#freed, to),
          },
          {
            publish: hub.publishCommand,
            receiver: encodeName(receiver),
            token,
            position: score,
            textBytes: text ? `${text.textBytes}:${text.textBase}` : '',
            first: this.#freed,
          },
        )) as number,
    );
    if (reply === -1) throw new FileLeaseLostError(channel, `receiver "${receiver}"`);
    if (reply < 0) throw new FileExpiredError(name, offset);
    this.#freed = Math.max(this.#freed, reply);
    this.#acked = score;
    while (this.#read.length > 0 && this.#read[0]!.index < to) this.#read.shift();
  }

  /** Whether an ack would free a chunk, or there is nothing to read at present, so it costs no time. */
  isAckDue(offset: number): boolean {
    const last = this.#read.at(-1);
    return !last || last.index + 1 >= this.#known || this.unackedChunks(offset) > 0;
  }

  /** How many chunks an ack up to there would pass. */
  unackedChunks(offset: number): number {
    return this.#positionOf(offset).chunk - decodePosition(this.#acked).chunk;
  }

  /** The index of the last chunk that was read; -1 when none was. */
  get lastChunk(): number {
    return this.#read.at(-1)?.index ?? -1;
  }

  /** What lies behind this byte has to be in Redis together, until it is pinned further on. Throws ERR_GZIP_MEMBER_TOO_LARGE from `parts` when it can't. */
  pin(offset: number): void {
    this.#pinnedAt = offset;
  }

  close(): void {
    this.#news.close();
  }

  async #join(): Promise<void> {
    const { redis, channel } = this.#context;
    const { receiver, token, name, listedAt, ttlMs, signal } = this.#reading;
    for (;;) {
      // Before the look, so that what is said during it counts.
      this.#news.isStale = false;
      const [first, ...rest] = await this.#persist(
        async () =>
          (await fileJoin.run(redis, this.#keys, { receiver: encodeName(receiver), token })) as string[],
      );
      if (first === 'lost') throw new FileLeaseLostError(channel, `receiver "${receiver}"`);
      if (first === 'done') throw new FileExpiredError(name, 0);
      if (first !== 'absent') {
        this.#take(Number(first), rest);
        return;
      }
      const [seconds] = (await this.#persist(() => redis.call('time', []))) as [string];
      if (Number(seconds) * 1_000 > listedAt + ttlMs) throw new FileExpiredError(name, 0);
      await this.#news.wait(RECHECK_MS, signal);
    }
  }

  #take(score: number, fields: readonly string[]): void {
    const [textBytes, chunks, freed, , state, segments, detail, bytes, windowBytes, chunkBytes] =
      fields as string[] & { length: 10 };
    this.#begin = this.#reading.from ?? decodePosition(score);
    this.#acked = score;
    if (textBytes) {
      const [acked, base] = textBytes.split(':');
      this.acked = { textBytes: Number(acked), textBase: Number(base) };
    }
    this.#windowBytes = Number(windowBytes);
    this.#chunkBytes = Number(chunkBytes);
    this.leewayBytes = this.#windowBytes - 2 * this.#chunkBytes;
    if (this.#begin.chunk === Number(chunks)) this.startOffset = Number(bytes);
    this.#freed = Math.min(Number(freed), this.#begin.chunk);
    this.#head = {
      chunks: Number(chunks),
      state: state as FileHead['state'],
      segments: segments ?? '',
      detail: detail ?? '',
    };
    if (this.#begin.chunk === 0) this.#crc = 0;
  }

  /** The first offset is known with the first chunk; a cursor at the end of the file has none. */
  #check(index: number, value: Buffer): Buffer {
    const { name } = this.#reading;
    const chunk: OpenedChunk | undefined = openChunk(value);
    if (!chunk) throw new FileCorruptError(name, `the CRC of chunk ${index} is wrong`);
    const isFirst = this.#read.length === 0 && index === this.#begin.chunk;
    if (isFirst) {
      this.startOffset = chunk.offset + this.#begin.bytes;
      this.#offset = chunk.offset;
    }
    if ((this.#crc !== undefined && chunk.crcBefore !== this.#crc) || chunk.offset !== this.#offset) {
      throw new FileCorruptError(name, `chunk ${index} does not follow the one before`);
    }
    this.#crc = chunk.crc;
    this.#offset += chunk.part.length;
    this.#read.push({ index, offset: chunk.offset, bytes: chunk.part.length });
    this.#context.tally?.count(FILE_CHUNKS, 1, READ);
    this.#context.tally?.count(FILE_BYTES, chunk.part.length, READ);
    return chunk.part;
  }

  get #known(): number {
    return Math.max(this.#head.chunks, this.#news.chunks);
  }

  /** Waits for a chunk; false at the end of the file. */
  async #isThere(index: number): Promise<boolean> {
    const { signal, name } = this.#reading;
    signal.throwIfAborted();
    while (index >= this.#known) {
      if (this.#head.state === 'closed' && index >= this.#head.chunks) {
        this.sha256 = this.#head.detail;
        return false;
      }
      if (this.#head.state === 'aborted') throw new FileAbortedError(name, this.#head.detail);
      if (this.#isOverfull()) {
        await this.#look();
        if (this.#head.state === 'open' && index >= this.#known) {
          throw new GzipMemberTooLargeError(name, this.#windowBytes - this.#chunkBytes);
        }
        continue;
      }
      if (!this.#news.isStale) await this.#wait(index);
      if (this.#news.isStale && index >= this.#news.chunks) await this.#look();
    }
    return true;
  }

  async #wait(index: number): Promise<void> {
    const { signal } = this.#reading;
    await this.#news.wait(IDLE_MS, signal);
    if (index < this.#known || this.#news.isStale) return;
    this.onIdle();
    const heardAt = performance.now();
    await this.#news.wait(RECHECK_MS, signal);
    if (performance.now() - heardAt >= RECHECK_MS) this.#news.isStale = true;
  }

  /** The sender can't send one more chunk before something is acked, and nothing can be. */
  #isOverfull(): boolean {
    const from = this.#pinnedAt;
    if (from === undefined) return false;
    let stored = this.#chunkBytes;
    for (const { offset, bytes } of this.#read) {
      if (offset + bytes > from) stored += bytes + CHUNK_HEADER_BYTES;
    }
    return stored > this.#windowBytes;
  }

  async #look(): Promise<void> {
    this.#news.isStale = false;
    const head = await this.#persist(() => readHead(this.#context.redis, this.#keys));
    if (!head) throw new FileExpiredError(this.#reading.name, this.#offset);
    this.#head = head;
  }

  /** Gets what is written, from a chunk on, as far as chunks are read ahead; some of it is under way. */
  #getAhead(ahead: Promise<Buffer | null>[], from: number): void {
    while (ahead.length < AHEAD && from + ahead.length < this.#known) {
      const index = from + ahead.length;
      const value = this.#getting.then(async () => this.#get(index));
      // Rejections are heard when it is the chunk's turn.
      this.#getting = value.catch(() => undefined);
      ahead.push(value);
    }
  }

  #get(index: number): Promise<Buffer | null> {
    const [key] = chunkKeys(this.#keys, this.#head.segments, index, index + 1);
    return this.#persist(async () => (await this.#context.redis.callBuffer('get', [key!])) as Buffer | null);
  }

  /** Not there: another writer has gone on with the file, it was aborted, or it is gone. */
  async #getAgain(index: number): Promise<Buffer> {
    await this.#look();
    if (this.#head.state === 'aborted') {
      throw new FileAbortedError(this.#reading.name, this.#head.detail);
    }
    const value = await this.#get(index);
    if (!value || value.length === 0) throw new FileExpiredError(this.#reading.name, this.#offset);
    return value;
  }

  #positionOf(offset: number): { chunk: number; bytes: number } {
    for (const { index, offset: first, bytes } of this.#read) {
      if (offset < first + bytes) return { chunk: index, bytes: Math.max(0, offset - first) };
    }
    const last = this.#read.at(-1);
    return last ? { chunk: last.index + 1, bytes: 0 } : this.#begin;
  }

  async #persist<Result>(act: () => Promise<Result>): Promise<Result> {
    const { redis } = this.#context;
    const { signal } = this.#reading;
    let result: { value: Result } | undefined;
    await persist(
      () => !signal.aborted && redis.status !== 'end',
      async () => {
        result = { value: await act() };
      },
    );
    if (result) return result.value;
    throw signal.aborted ? (signal.reason as Error) : new ClientClosedError();
  }
}
