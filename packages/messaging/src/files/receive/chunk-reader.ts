/**
 * Reads the chunks of a file from a receiver's cursor on, up to two ahead, each by one GET. One GET is under way at a time,
 * so that the memory of Redis holds one reply for each receiver. Messages of the writer contain the number of chunks. The
 * head of the file is read at its end, when a chunk is missing, and after a bounded time.
 *
 * A failover may lose chunks that were read. The sender sends them again, perhaps with other boundaries, so acks of them no
 * longer apply. The reader then returns to its cursor in Redis and skips the bytes that it has delivered.
 */
import { callRedisBuffer, encodeName, LeaseLostError } from '@mortise/redis';
import { FileAbortedError, FileForgottenError, FileUnreadableError } from '../errors.js';
import { persisted } from '../../persist.js';
import type { FileKeys } from '../keys.js';
import { fileAck, fileJoin } from '../../scripts.gen.js';
import { FILE_BYTES, FILE_CHUNKS, READ } from '../metrics.js';
import type { OpenedChunk } from '../chunk.js';
import { decodePosition, encodePosition, openChunk } from '../chunk.js';
import { FileUpdates } from '../file-updates.js';
import type { FileHead } from '../file-head.js';
import { chunkKeys, readHead } from '../file-head.js';
import type { FilesContext } from '../context.js';
import { RECHECK_MS } from '../context.js';
import { ReadChunks } from './read-chunks.js';
import type { Reading } from './reading.js';
import { requireExpected } from './reading.js';

/** Chunks read in advance. */
const AHEAD = 2;
/** A chunk that comes within this time, ms, does not count as a wait. */
const IDLE_MS = 5;

export class ChunkReader {
  /** SHA-256 of the whole file, known at its end. */
  sha256: string | undefined;
  /** For gzip: acked bytes of text, and those of them before the cursor. Undefined without any. */
  acked: { readonly textBytes: number; readonly textBase: number } | undefined;
  /** Called when no chunk has come for a few ms, before a longer wait. */
  onIdle: () => void = () => undefined;
  /** Called when reading has returned to the cursor: acked bytes must be acked again. */
  onRewind: () => void = () => undefined;
  /** The byte of the sent file at which reading began. */
  startOffset = 0;
  /** How many bytes may be read before an ack. */
  leewayBytes = 0;
  readonly #context: FilesContext;
  readonly #reading: Reading;
  readonly #keys: FileKeys;
  readonly #updates: FileUpdates;
  #head!: Pick<FileHead, 'chunks' | 'state' | 'writers' | 'detail'>;
  #freed = 0;
  #windowBytes = 0;
  #chunkBytes = 0;
  /** Bytes after this one cannot be acked yet, so all of them must fit into Redis. */
  #pinnedAt: number | undefined;
  #read = new ReadChunks({ chunk: 0, bytes: 0 });
  /** The index of the next chunk. */
  #next = 0;
  /** The delivered bytes end here. */
  #deliveredTo: number | undefined;
  /** The cursor at the last rewind; a second rewind to it would be useless. */
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

  /** Whether the beginning of the file was passed, so it may be freed. */
  get isAfterStart(): boolean {
    const { chunk, bytes } = this.#read.begin;
    return chunk > 0 || bytes > 0;
  }

  /** Waits until the file exists. One round trip, and the subscription. */
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

  /**
   * The bytes of the file from the cursor to its end. Throws ERR_FILE_ABORTED, ERR_FILE_CORRUPT, ERR_FILE_EXPIRED,
   * ERR_FILE_FORGOTTEN.
   */
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
      const block = chunk.bytes.subarray(Math.max(0, this.#deliveredTo! - chunk.offset));
      this.#deliveredTo = Math.max(this.#deliveredTo!, this.#offset);
      if (block.length > 0) yield block;
      else if (this.#lastAcked !== undefined) await this.ack(this.#lastAcked);
    }
  }

  /**
   * Moves the cursor to an offset of the file, and frees the chunks that all receivers have passed. With `text`, stores the
   * number of acked bytes of inflated text, and of those before `offset`, where a gzip member begins. Repeating it is safe.
   * Does nothing if a failover has lost the acked chunks: they are acked again when they are back. One script.
   */
  async ack(offset: number, text?: { textBytes: number; textBase: number }): Promise<void> {
    const { redis, hub } = this.#context;
    const { receiver, token } = this.#reading;
    const score = Math.max(this.#acked, encodePosition(this.#read.positionOf(offset)));
    const to = decodePosition(score).chunk;
    const read = this.#read;
    const reply = await this.#persist(
      async () =>
        (await fileAck.run(
          redis,
          { ...this.#keys, chunks: chunkKeys(this.#keys, this.#head.writers, this.#freed, to) },
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
    // Reading has returned to the cursor during the ack.
    if (read !== this.#read) return;
    this.#freed = Math.max(this.#freed, reply);
    this.#acked = score;
    this.#read.dropBefore(to);
  }

  /** Whether an ack would free a chunk, or costs no time because nothing can be read at present. */
  isAckDue(offset: number): boolean {
    const { last } = this.#read;
    return !last || last.index + 1 >= this.#known || this.unackedChunks(offset) > 0;
  }

  /** How many chunks an ack up to this byte would pass. */
  unackedChunks(offset: number): number {
    return this.#read.positionOf(offset).chunk - decodePosition(this.#acked).chunk;
  }

  /**
   * Bytes after this one must all stay in Redis until a later `pin`. If the window is too small, `blocks` throws
   * ERR_GZIP_MEMBER_TOO_LARGE.
   */
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
      // Set before the read, so that messages during it count.
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
    const isNew = this.#deliveredTo === undefined;
    const begin = (isNew && this.#reading.from) || decodePosition(score);
    this.#read = new ReadChunks(begin);
    this.#next = begin.chunk;
    this.#acked = score;
    if (textBytes && isNew) {
      const [acked, base] = textBytes.split(':');
      this.acked = { textBytes: Number(acked), textBase: Number(base) };
    }
    this.#windowBytes = Number(windowBytes);
    this.#chunkBytes = Number(chunkBytes);
    this.leewayBytes = this.#windowBytes - 2 * this.#chunkBytes;
    if (isNew && begin.chunk === Number(chunks)) this.startOffset = Number(bytes);
    this.#freed = Math.min(Number(freed), begin.chunk);
    this.#head = {
      chunks: Number(chunks),
      state: state as FileHead['state'],
      writers: writers ?? '',
      detail: detail ?? '',
    };
    this.#crc = begin.chunk === 0 ? 0 : undefined;
  }

  /**
   * Returns to the cursor when Redis knows the file again. Not for gzip: the ends of members, where its cursor may stand,
   * are no longer known.
   */
  async #rewind(): Promise<void> {
    const { from, name } = this.#reading;
    if (from && this.#deliveredTo === undefined)
      throw new FileUnreadableError('ERR_FILE_EXPIRED', name, { offset: this.#offset });
    if (this.#hasAckedText) throw new FileForgottenError(name);
    this.#isRewindDue = false;
    this.#rewoundAt = this.#deliveredTo;
    // An ack under way must not change the chunks of the next round.
    this.#read = new ReadChunks(this.#read.begin);
    await this.#join();
    this.#updates.chunks = this.#head.chunks;
    this.onRewind();
  }

  /**
   * Undefined if the chunk does not continue the one before and reading must return to the cursor. The first chunk tells
   * where reading began.
   */
  #check(value: Buffer): OpenedChunk | undefined {
    const index = this.#next;
    const chunk: OpenedChunk | undefined = openChunk(value);
    if (!chunk) throw this.#corrupt(`the CRC of chunk ${index} is wrong`);
    const isFirst = this.#read.isEmpty && index === this.#read.begin.chunk;
    if (isFirst) {
      this.#offset = chunk.offset;
      if (this.#deliveredTo === undefined) this.startOffset = chunk.offset + this.#read.begin.bytes;
    }
    this.#deliveredTo ??= this.startOffset;
    const isNext = this.#crc === undefined || chunk.crcBefore === this.#crc;
    if (!isNext || chunk.offset !== this.#offset || chunk.offset > this.#deliveredTo) {
      if (this.#rewoundAt === this.#deliveredTo)
        throw this.#corrupt(`chunk ${index} does not continue the one before`);
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

  #corrupt(problem: string): FileUnreadableError {
    return new FileUnreadableError('ERR_FILE_CORRUPT', this.#reading.name, { problem });
  }

  get #known(): number {
    return Math.max(this.#head.chunks, this.#updates.chunks);
  }

  /** Waits for the next chunk, or until reading must return to the cursor; false at the end of the file. */
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

  /** Whether the window has no room for another chunk before an ack, and no ack is possible. */
  #isOverfull(): boolean {
    const from = this.#pinnedAt;
    if (from === undefined) return false;
    return this.#chunkBytes + this.#read.storedAfter(from) > this.#windowBytes;
  }

  async #look(): Promise<void> {
    this.#updates.isStale = false;
    const head = await this.#persist(() => readHead(this.#context.redis, this.#keys));
    if (!head) await this.#expect(this.#offset);
    if (!head || this.#hasForgotten(head)) this.#isRewindDue = true;
    else this.#head = head;
  }

  /** Whether chunks that were read are missing, or were written by another writer. */
  #hasForgotten({ chunks, writers }: FileHead): boolean {
    if (this.#next === 0) return false;
    const [before] = chunkKeys(this.#keys, this.#head.writers, this.#next - 1, this.#next);
    const [now] = chunkKeys(this.#keys, writers, this.#next - 1, this.#next);
    return chunks < this.#next || before !== now;
  }

  /** Gets written chunks from an index on, until two are under way. */
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
    return this.#persist(
      async () => (await callRedisBuffer(this.#context.redis, 'get', [key!])) as Buffer | null,
    );
  }

  /**
   * Explains a missing chunk: another writer has continued the file, or it was aborted or deleted. Undefined if the chunk
   * may still come.
   */
  async #getAgain(): Promise<Buffer | undefined> {
    const { name } = this.#reading;
    await this.#look();
    if (this.#isRewindDue) return undefined;
    if (this.#head.state === 'aborted') throw new FileAbortedError(name, this.#head.detail);
    if (this.#next >= this.#head.chunks) {
      // A failover has lost it; its sender will send it again.
      this.#updates.chunks = this.#head.chunks;
      return undefined;
    }
    const value = await this.#get(this.#next);
    if (value && value.length > 0) return value;
    await this.#look();
    if (!this.#isRewindDue) throw new FileUnreadableError('ERR_FILE_EXPIRED', name, { offset: this.#offset });
    return undefined;
  }

  async #persist<Result>(act: () => Promise<Result>): Promise<Result> {
    return persisted(this.#context.redis, this.#reading.signal, act);
  }
}
