/**
 * Reads the chunks of a file from a receiver's cursor on, up to two ahead, each by one GET. One GET is under way at a time, so that the memory of Redis
 * holds one reply for each receiver. The wake-ups of the writer say how many chunks there are. The head of the file is read when the file ends,
 * when a chunk is missing, and in bounded time.
 *
 * A failover may lose chunks that were read. The sender sends them again, perhaps cut elsewhere, so acks of them mean nothing any more. The reader
 * then returns to its cursor, as Redis knows it, and skips the bytes that it had handed out.
 */
import { encodeName, LeaseLostError } from '@mortise/redis';
import { FileAbortedError, FileForgottenError, FileUnreadableError } from '../errors.js';
import type { FileKeys } from '../keys.js';
import { fileAck, fileJoin } from '../../scripts.gen.js';
import { FILE_BYTES, FILE_CHUNKS } from '../metrics.js';
import type { OpenedChunk } from '../chunk.js';
import { CHUNK_HEADER_BYTES, decodePosition, encodePosition, openChunk } from '../chunk.js';
import { FileUpdates } from '../file-updates.js';
import type { FileHead } from '../file-head.js';
import { chunkKeys, readHead } from '../file-head.js';
import type { FilesContext } from '../context.js';
import { RECHECK_MS } from '../context.js';
import type { Reading } from './reading.js';
import { persisted, requireExpected } from './reading.js';

/** Chunks that are read before they are needed. */
const AHEAD = 2;
/** A chunk that comes within this time, in ms, is not a wait. */
const IDLE_MS = 5;
const READ = { 'mortise.messaging.direction': 'read' };

export class ChunkReader {
  /** Of the whole file; known when it has ended. */
  sha256: string | undefined;
  /** Of gzip: bytes of text that were acked, and how many of them lie before the cursor. Undefined when none was acked. */
  acked: { readonly textBytes: number; readonly textBase: number } | undefined;
  /** Called when no chunk has come for some ms, before a longer wait. */
  onIdle: () => void = () => undefined;
  /** Called when reading has returned to the cursor: acked bytes have to be acked again. */
  onRewind: () => void = () => undefined;
  /** The byte of the file, as it was sent, at which reading began. */
  startOffset = 0;
  /** How many bytes may be read before some of them are acked. */
  leewayBytes = 0;
  readonly #context: FilesContext;
  readonly #reading: Reading;
  readonly #keys: FileKeys;
  readonly #updates: FileUpdates;
  #head!: Pick<FileHead, 'chunks' | 'state' | 'writers' | 'detail'>;
  #freed = 0;
  #windowBytes = 0;
  #chunkBytes = 0;
  /** Bytes after this one can't be acked yet, so they have to be in Redis together. */
  #pinnedAt: number | undefined;
  /** The chunks that have been read since the cursor: index, offset of the first byte, bytes. */
  #read: { index: number; offset: number; bytes: number }[] = [];
  #begin = { chunk: 0, bytes: 0 };
  /** The chunk that is read next. */
  #next = 0;
  /** What lies before it was handed out. */
  #handedOut: number | undefined;
  /** Where it was when it last went back; doing so again there is of no use. */
  #rewoundAt: number | undefined;
  #isRewindDue = false;
  #hasAckedText = false;
  #lastAcked: number | undefined;
  #acked = 0;
  #getting: Promise<unknown> = Promise.resolve();
  #crc: number | undefined;
  #offset = 0;

  private constructor(context: FilesContext, reading: Reading, updates: FileUpdates) {
    this.#context = context;
    this.#reading = reading;
    this.#keys = context.keys.file(context.channel, reading.number, reading.fileId);
    this.#updates = updates;
  }

  /** The beginning of the file was passed, and may be gone. */
  get isAfterStart(): boolean {
    return this.#begin.chunk > 0 || this.#begin.bytes > 0;
  }

  /** Waits until the file is there. One round trip, and the subscription. */
  static async open(context: FilesContext, reading: Reading): Promise<ChunkReader> {
    const { events } = context.keys.file(context.channel, reading.number, reading.fileId);
    const updates = await FileUpdates.open(context.hub, events);
    const reader = new ChunkReader(context, reading, updates);
    try {
      await reader.#join();
      return reader;
    } catch (error) {
      updates.close();
      throw error;
    }
  }

  /** The bytes of the file from the cursor on. Ends with the file. Throws ERR_FILE_ABORTED, ERR_FILE_CORRUPT, ERR_FILE_EXPIRED, ERR_FILE_FORGOTTEN. */
  async *blocks(): AsyncGenerator<Buffer> {
    let ahead: Promise<Buffer | null>[] = [];
    for (;;) {
      if (this.#isRewindDue) {
        await this.#rewind();
        ahead = [];
      }
      if (!(await this.#isThere())) return;
      if (this.#isRewindDue) continue;
      this.#getAhead(ahead, this.#next);
      const value = (await ahead.shift()) || (await this.#getAgain());
      const chunk = value && this.#check(value);
      if (!chunk) {
        ahead = [];
        continue;
      }
      this.#next += 1;
      this.#getAhead(ahead, this.#next);
      const block = chunk.bytes.subarray(Math.max(0, this.#handedOut! - chunk.offset));
      this.#handedOut = Math.max(this.#handedOut!, this.#offset);
      if (block.length > 0) yield block;
      else if (this.#lastAcked !== undefined) await this.ack(this.#lastAcked);
    }
  }

  /**
   * Moves the cursor to a byte of the file, counted from its beginning, and frees the chunks that all receivers have passed. With `text`, notes how
   * many bytes of inflated text are acked, and how many of them lie before `offset`, where a member of gzip begins. Repeating it is safe. Does nothing
   * when a failover has lost the acked chunks: they are acked again when they are back. One script.
   */
  async ack(offset: number, text?: { textBytes: number; textBase: number }): Promise<void> {
    const { redis, hub } = this.#context;
    const { receiver, token } = this.#reading;
    const score = Math.max(this.#acked, encodePosition(this.#positionOf(offset)));
    const to = decodePosition(score).chunk;
    const read = this.#read;
    const reply = await this.#persist(
      async () =>
        (await fileAck.run(
          redis,
          {
            file: this.#keys.file,
            cursors: this.#keys.cursors,
            events: this.#keys.events,
            chunks: chunkKeys(this.#keys, this.#head.writers, this.#freed, to),
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
    if (text) this.#hasAckedText = true;
    else this.#lastAcked = Math.max(this.#lastAcked ?? 0, offset);
    if (reply < 0) {
      await this.#expect(offset);
      this.#isRewindDue = true;
      this.#updates.isStale = true;
      this.#updates.wake();
      return;
    }
    // Reading has returned to the cursor meanwhile.
    if (read !== this.#read) return;
    this.#freed = Math.max(this.#freed, reply);
    this.#acked = score;
    while (this.#read.length > 0 && this.#read[0]!.index < to) this.#read.shift();
  }

  /** Whether an ack would free a chunk, or costs no time since there is nothing to read at present. */
  isAckDue(offset: number): boolean {
    const last = this.#read.at(-1);
    return !last || last.index + 1 >= this.#known || this.unackedChunks(offset) > 0;
  }

  /** How many chunks an ack up to this byte would pass. */
  unackedChunks(offset: number): number {
    return this.#positionOf(offset).chunk - decodePosition(this.#acked).chunk;
  }

  /** Bytes after this one have to be in Redis together, until a later `pin`. If the window is too small, `blocks` throws ERR_GZIP_MEMBER_TOO_LARGE. */
  pin(offset: number): void {
    this.#pinnedAt = offset;
  }

  close(): void {
    this.#updates.close();
  }

  async #join(): Promise<void> {
    const { redis, channel } = this.#context;
    const { receiver, token, name, signal } = this.#reading;
    for (;;) {
      // Before the read, so that messages during it count.
      this.#updates.isStale = false;
      const [first, ...rest] = await this.#persist(
        async () =>
          (await fileJoin.run(redis, this.#keys, { receiver: encodeName(receiver), token })) as string[],
      );
      if (first === 'lost') throw new LeaseLostError(`receiver "${receiver}" of channel "${channel}"`);
      if (first !== 'absent' && first !== 'done') {
        return this.#take(Number(first), rest);
      }
      await this.#expect(0);
      if (first === 'done') throw new FileUnreadableError('ERR_FILE_EXPIRED', name, { offset: 0 });
      await this.#updates.wait(RECHECK_MS, signal);
    }
  }

  #expect(offset: number): Promise<void> {
    return this.#persist(async () => requireExpected(this.#context, this.#reading, offset));
  }

  #take(score: number, fields: readonly string[]): void {
    const [textBytes, chunks, freed, , state, writers, detail, bytes, windowBytes, chunkBytes] =
      fields as string[] & { length: 10 };
    const isNew = this.#handedOut === undefined;
    this.#begin = (isNew && this.#reading.from) || decodePosition(score);
    this.#next = this.#begin.chunk;
    this.#acked = score;
    if (textBytes && isNew) {
      const [acked, base] = textBytes.split(':');
      this.acked = { textBytes: Number(acked), textBase: Number(base) };
    }
    this.#windowBytes = Number(windowBytes);
    this.#chunkBytes = Number(chunkBytes);
    this.leewayBytes = this.#windowBytes - 2 * this.#chunkBytes;
    if (isNew && this.#begin.chunk === Number(chunks)) this.startOffset = Number(bytes);
    this.#freed = Math.min(Number(freed), this.#begin.chunk);
    this.#head = {
      chunks: Number(chunks),
      state: state as FileHead['state'],
      writers: writers ?? '',
      detail: detail ?? '',
    };
    this.#crc = this.#begin.chunk === 0 ? 0 : undefined;
  }

  /** Returns to the cursor, when Redis knows the file again. Not for gzip: the ends of members, where its cursor may stand, are not known any more. */
  async #rewind(): Promise<void> {
    const { from, name } = this.#reading;
    if (from && this.#handedOut === undefined)
      throw new FileUnreadableError('ERR_FILE_EXPIRED', name, { offset: this.#offset });
    if (this.#hasAckedText) throw new FileForgottenError(name);
    this.#isRewindDue = false;
    this.#rewoundAt = this.#handedOut;
    this.#read = [];
    await this.#join();
    this.#updates.chunks = this.#head.chunks;
    this.onRewind();
  }

  /** Undefined when the chunk doesn't continue the one before, and reading has to return to the cursor. The first chunk says where reading began. */
  #check(value: Buffer): OpenedChunk | undefined {
    const { name } = this.#reading;
    const index = this.#next;
    const chunk: OpenedChunk | undefined = openChunk(value);
    if (!chunk)
      throw new FileUnreadableError('ERR_FILE_CORRUPT', name, {
        problem: `the CRC of chunk ${index} is wrong`,
      });
    const isFirst = this.#read.length === 0 && index === this.#begin.chunk;
    if (isFirst) {
      this.#offset = chunk.offset;
      if (this.#handedOut === undefined) this.startOffset = chunk.offset + this.#begin.bytes;
    }
    this.#handedOut ??= this.startOffset;
    const isNext = this.#crc === undefined || chunk.crcBefore === this.#crc;
    if (!isNext || chunk.offset !== this.#offset || chunk.offset > this.#handedOut) {
      if (this.#rewoundAt === this.#handedOut) {
        throw new FileUnreadableError('ERR_FILE_CORRUPT', name, {
          problem: `chunk ${index} does not continue the one before`,
        });
      }
      this.#isRewindDue = true;
      return undefined;
    }
    this.#crc = chunk.crc;
    this.#offset += chunk.bytes.length;
    this.#read.push({ index, offset: chunk.offset, bytes: chunk.bytes.length });
    this.#context.telemetry?.count(FILE_CHUNKS, 1, READ);
    this.#context.telemetry?.count(FILE_BYTES, chunk.bytes.length, READ);
    return chunk;
  }

  get #known(): number {
    return Math.max(this.#head.chunks, this.#updates.chunks);
  }

  /** Waits for the next chunk, or until reading has to return to the cursor; false at the end of the file. */
  async #isThere(): Promise<boolean> {
    const { signal, name } = this.#reading;
    const index = this.#next;
    signal.throwIfAborted();
    while (index >= this.#known && !this.#isRewindDue) {
      if (this.#head.state === 'closed' && index >= this.#head.chunks) {
        this.sha256 = this.#head.detail;
        return false;
      }
      if (this.#head.state === 'aborted') throw new FileAbortedError(name, this.#head.detail);
      if (this.#isOverfull()) {
        await this.#look();
        if (this.#head.state === 'open' && index >= this.#known && !this.#isRewindDue) {
          throw new FileUnreadableError('ERR_GZIP_MEMBER_TOO_LARGE', name, {
            maxBytes: this.#windowBytes - this.#chunkBytes,
          });
        }
        continue;
      }
      if (!this.#updates.isStale) await this.#wait(index);
      if (this.#updates.isStale && index >= this.#updates.chunks) await this.#look();
    }
    return true;
  }

  async #wait(index: number): Promise<void> {
    const { signal } = this.#reading;
    await this.#updates.wait(IDLE_MS, signal);
    if (index < this.#known || this.#updates.isStale) return;
    this.onIdle();
    const waitedAt = performance.now();
    await this.#updates.wait(RECHECK_MS, signal);
    if (performance.now() - waitedAt >= RECHECK_MS) this.#updates.isStale = true;
  }

  /** The window has no room for one more chunk before an ack, and no ack is possible. */
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
    this.#updates.isStale = false;
    const head = await this.#persist(() => readHead(this.#context.redis, this.#keys));
    if (!head) await this.#expect(this.#offset);
    if (!head || this.#hasForgotten(head)) this.#isRewindDue = true;
    else this.#head = head;
  }

  /** Whether chunks that were read are missing, or another writer has written them. */
  #hasForgotten({ chunks, writers }: FileHead): boolean {
    if (this.#next === 0) return false;
    const [before] = chunkKeys(this.#keys, this.#head.writers, this.#next - 1, this.#next);
    const [now] = chunkKeys(this.#keys, writers, this.#next - 1, this.#next);
    return chunks < this.#next || before !== now;
  }

  /** Gets chunks that are written, from an index on, until two are under way. */
  #getAhead(ahead: Promise<Buffer | null>[], from: number): void {
    while (ahead.length < AHEAD && from + ahead.length < this.#known) {
      const index = from + ahead.length;
      const value = this.#getting.then(async () => this.#get(index));
      // The rejection is handled after the chunks before it.
      this.#getting = value.catch(() => undefined);
      ahead.push(value);
    }
  }

  #get(index: number): Promise<Buffer | null> {
    const [key] = chunkKeys(this.#keys, this.#head.writers, index, index + 1);
    return this.#persist(async () => (await this.#context.redis.callBuffer('get', [key!])) as Buffer | null);
  }

  /** For a missing chunk: another writer has continued the file, or the file was aborted or is gone. Undefined when the chunk may still come. */
  async #getAgain(): Promise<Buffer | undefined> {
    const { name } = this.#reading;
    await this.#look();
    if (this.#isRewindDue) return undefined;
    if (this.#head.state === 'aborted') throw new FileAbortedError(name, this.#head.detail);
    if (this.#next >= this.#head.chunks) {
      // A failover has lost it: its sender will send it again.
      this.#updates.chunks = this.#head.chunks;
      return undefined;
    }
    const value = await this.#get(this.#next);
    if (value && value.length > 0) return value;
    await this.#look();
    if (!this.#isRewindDue) throw new FileUnreadableError('ERR_FILE_EXPIRED', name, { offset: this.#offset });
    return undefined;
  }

  #positionOf(offset: number): { chunk: number; bytes: number } {
    for (const { index, offset: first, bytes } of this.#read) {
      if (offset < first + bytes) return { chunk: index, bytes: Math.max(0, offset - first) };
    }
    const last = this.#read.at(-1);
    return last ? { chunk: last.index + 1, bytes: 0 } : this.#begin;
  }

  async #persist<Result>(act: () => Promise<Result>): Promise<Result> {
    return persisted(this.#context.redis, this.#reading.signal, act);
  }
}
