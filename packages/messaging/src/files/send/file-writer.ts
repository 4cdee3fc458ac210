/**
 * Writes one file, as the holder of its lease.
 *
 * `SET … XX` stores a chunk, without Lua, which would copy the payload twice more. Then a script makes the chunk visible.
 * The key of a chunk contains the writer's fencing token, and XX stores it only where the previous script has created an
 * empty key. A takeover deletes that key, so a writer that was silent for too long stores nothing and overwrites nothing.
 */
import { randomUUID } from 'node:crypto';
import { callRedis, encodeName, LeaseLostError, Loop } from '@mortise/redis';
import { FileForgottenError } from '../errors.js';
import { persisted } from '../../persist.js';
import { ChunkPipeline } from './chunk-pipeline.js';
import type { SealedChunk } from './chunk-pipeline.js';
import type { FileKeys } from '../keys.js';
import { fileClose, fileCommit, fileOpen, fileRenew } from '../../scripts.gen.js';
import { CHUNK_HEADER_BYTES, writeHeader } from '../chunk.js';
import { FileUpdates } from '../file-updates.js';
import type { FileHead } from '../file-head.js';
import { chunkKeys, readHead } from '../file-head.js';
import { isForgotten, wasEnded } from '../file-status.js';
import type { FileId, FilesContext } from '../context.js';
import type { FileSenderLimits } from '../options.js';

/** Replies of the scripts instead of a number of bytes. */
const LOST = -1;
const ENDED = -2;
const NOT_STORED = -3;
const UNREAD = -4;
const UNNEEDED = 2;

/** The file, its writer and its receivers. */
interface WrittenFile extends FileId {
  readonly name: string;
  readonly windowBytes: number;
  readonly receivers: readonly string[];
  /** With it, the writer notices when a failover has lost the file's entry. */
  readonly id?: string;
}

export class FileWriter {
  /** Committed chunks, also of earlier writers. */
  chunks = 0;
  bytes = 0;
  /** Whether all receivers are done with the file, so nobody wants the remainder. */
  isUnread = false;
  /** Whether the file did not exist when the lease was acquired. */
  isNew = false;
  /** Called with each chunk that has become visible. If it throws, the writing ends. */
  onCommitted: (chunk: Buffer) => void = () => undefined;
  /** Committed chunks, and those under way. */
  #sealed = { chunks: 0, bytes: 0, crc: 0, stored: 0 };
  readonly #context: FilesContext;
  readonly #limits: FileSenderLimits;
  readonly #file: WrittenFile;
  readonly #keys: FileKeys;
  readonly #updates: FileUpdates;
  readonly #renewal: Loop;
  readonly #pipeline: ChunkPipeline;
  readonly #signal: AbortSignal | undefined;
  readonly #ending = new AbortController();
  /** Each writer has another one, so that a repeated `file.open` is not refused as another writer's. */
  readonly #holder = randomUUID();
  #token = 0;
  #stored = 0;
  #failure: Error | undefined;
  #committedAt = 0;
  #isEnded = false;
  #isReleased = false;
  #keptAt = performance.now();

  private constructor(
    context: FilesContext,
    limits: FileSenderLimits,
    file: WrittenFile,
    updates: FileUpdates,
    signal: AbortSignal | undefined,
  ) {
    this.#context = context;
    this.#limits = limits;
    this.#file = file;
    this.#keys = context.keys.file(context.channel, file.number, file.fileId);
    this.#updates = updates;
    this.#signal = signal;
    this.#pipeline = new ChunkPipeline({
      send: async (chunk) => this.#send(chunk),
      resend: async (chunk) => this.#persist(() => this.#send(chunk)),
      isMissing: (reply) => reply === NOT_STORED,
      confirm: (chunk, reply) => this.#confirm(chunk, reply),
      fail: (reason) => this.#ending.abort(reason),
    });
    this.#renewal = new Loop('mortise file writer', () => this.#renew(), { onError: () => undefined });
  }

  /**
   * Acquires the lease, after that of another writer has ended. Undefined if the file has ended. A missing file begins
   * anew, for the receivers that are not done with it. `signal` ends all attempts, `waiting` those to acquire the lease.
   */
  static async open(
    context: FilesContext,
    limits: FileSenderLimits,
    file: WrittenFile,
    signal: AbortSignal | undefined,
    waiting = signal,
  ): Promise<FileWriter | undefined> {
    const { events } = context.keys.file(context.channel, file.number, file.fileId);
    const updates = await FileUpdates.open(context.hub, events);
    const writer = new FileWriter(context, limits, file, updates, signal);
    let isOpen = false;
    try {
      isOpen = await writer.#open(waiting);
      return isOpen ? writer : undefined;
    } finally {
      if (!isOpen) updates.close();
    }
  }

  /** Gives a file up, as soon as no writer has its lease. Returns false if it had ended before. */
  static async abort(
    context: FilesContext,
    limits: FileSenderLimits,
    file: WrittenFile,
    reason: string,
    signal: AbortSignal | undefined,
  ): Promise<boolean> {
    const writer = await FileWriter.open(context, limits, file, signal);
    try {
      return (await writer?.close('aborted', reason)) ?? false;
    } finally {
      await writer?.release();
    }
  }

  async #open(signal: AbortSignal | undefined): Promise<boolean> {
    const { redis } = this.#context;
    const { receivers, windowBytes } = this.#file;
    for (;;) {
      // Set before the read, so that messages during it count.
      this.#updates.isStale = false;
      const head = await readHead(redis, this.#keys);
      if (head && head.state !== 'open') return false;
      const chunks = head?.chunks ?? 0;
      const token = head?.token ?? 0;
      const [answer, detail] = (await fileOpen.run(
        redis,
        {
          ...this.#keys,
          next: this.#keys.chunk(token + 1, chunks),
          before: this.#keys.chunk(token, chunks),
        },
        {
          holder: this.#holder,
          leaseMs: this.#limits.leaseMs,
          keepMs: this.#limits.keepMs,
          chunks,
          token,
          chunkBytes: this.#limits.chunkBytes,
          windowBytes,
          receivers: receivers.map(encodeName),
        },
      )) as [string, number];
      if (answer === 'held') {
        this.#take(head, detail);
        return true;
      }
      if (answer === 'busy') await this.#waitForLease(detail + 1, signal);
    }
  }

  /** Another writer may end the file, or give it up, before its lease is over. */
  async #waitForLease(ms: number, signal?: AbortSignal): Promise<void> {
    const until = performance.now() + ms;
    for (let left = ms; left > 0 && !this.#updates.isStale; left = until - performance.now()) {
      await this.#updates.wait(left, signal);
    }
  }

  #take(head: FileHead | undefined, token: number): void {
    const { chunks = 0, bytes = 0, stored = 0, crc = 0, freedBytes = 0 } = (head ?? {}) as Partial<FileHead>;
    this.#token = token;
    this.isNew = head === undefined;
    this.chunks = chunks;
    this.bytes = bytes;
    this.#stored = stored;
    this.#sealed = { chunks, bytes, crc, stored };
    this.#updates.freedBytes = Math.max(this.#updates.freedBytes, freedBytes);
    this.#committedAt = performance.now();
    this.#renewal.start();
  }

  /** CRC-32 of the committed bytes when the file was opened. */
  get crc(): number {
    return this.#sealed.crc;
  }

  /** Bytes of the chunks in Redis. */
  get storedBytes(): number {
    return this.#stored - this.#updates.freedBytes;
  }

  /** Whether a chunk of this size, header included, fits into the window. */
  hasRoomFor(bytes: number): boolean {
    return this.#sealed.stored - this.#updates.freedBytes + bytes <= this.#file.windowBytes;
  }

  /** Resolves when chunks may have been freed; after `ms` at the latest. */
  async waitForRoom(ms: number, signal?: AbortSignal): Promise<void> {
    await this.#updates.wait(ms, signal);
    this.#throwIfLost();
  }

  /** Aborted when writing cannot continue, with the error that `write` throws as its reason. */
  get ending(): AbortSignal {
    return this.#ending.signal;
  }

  /** Whether another writer has the file, or a failover has lost some of it. */
  get isLost(): boolean {
    return this.#failure !== undefined;
  }

  #throwIfLost(): void {
    if (this.#failure) throw this.#failure;
  }

  /**
   * Stores a chunk, which has room for its header, and makes it visible. Two commands in one round trip. Resolves before
   * the reply, when another chunk may be sent. Retries transient errors of the connection. Throws ERR_LEASE_LOST, also for
   * earlier chunks.
   */
  async write(chunk: Buffer): Promise<void> {
    this.#throwIfLost();
    const crc = writeHeader(chunk, this.#sealed.bytes, this.#sealed.crc);
    const bytes = chunk.length - CHUNK_HEADER_BYTES;
    const index = this.#sealed.chunks;
    this.#sealed = {
      chunks: index + 1,
      bytes: this.#sealed.bytes + bytes,
      crc,
      stored: this.#sealed.stored + chunk.length,
    };
    await this.#pipeline.push({ index, value: chunk, bytes, crc });
  }

  /** Resolves when all chunks are visible. Throws as `write`. */
  async flush(): Promise<void> {
    await this.#pipeline.flush();
  }

  #confirm(chunk: SealedChunk, reply: number): void {
    if (reply < 0) return this.#throwRefused(reply);
    this.chunks = chunk.index + 1;
    this.bytes += chunk.bytes;
    this.#stored += chunk.value.length;
    this.#committedAt = performance.now();
    this.#updates.freedBytes = Math.max(this.#updates.freedBytes, reply);
    this.onCommitted(chunk.value);
  }

  #persist<Result>(act: () => Promise<Result>): Promise<Result> {
    return persisted(this.#context.redis, this.#signal, act, () => !this.#isReleased);
  }

  async #send(chunk: SealedChunk): Promise<number> {
    const { index, value, bytes, crc } = chunk;
    const { redis, hub } = this.#context;
    const { leaseMs, keepMs } = this.#limits;
    const keys = {
      ...this.#keys,
      chunk: this.#keys.chunk(this.#token, index),
      next: this.#keys.chunk(this.#token, index + 1),
    };
    const [isSet, committed] = await Promise.allSettled([
      callRedis(redis, 'set', [keys.chunk, value, 'XX', 'PX', keepMs]),
      fileCommit.run(redis, keys, {
        publish: hub.publishCommand,
        token: this.#token,
        index,
        stored: value.length,
        bytes,
        crc,
        leaseMs,
        keepMs,
      }) as Promise<number>,
    ]);
    // The script tells whether the chunk is stored, also by an earlier attempt.
    if (committed.status === 'rejected') throw committed.reason;
    if (committed.value !== NOT_STORED) return committed.value;
    if (isSet.status === 'rejected') throw isSet.reason;
    // On Cluster the two commands may reach different nodes while a slot moves.
    return isSet.value === 'OK' ? this.#send(chunk) : committed.value;
  }

  /**
   * Ends the file: complete, with its SHA-256, or aborted, with a reason. Returns false if it had ended before. Repeating it
   * after a lost reply is safe, also if the receivers were done meanwhile. Throws ERR_LEASE_LOST, and ERR_FILE_FORGOTTEN for
   * a complete file.
   */
  async close(state: 'closed' | 'aborted', detail: string): Promise<boolean> {
    await this.#pipeline.quiet();
    const { redis, hub } = this.#context;
    // Without an answer, the file counts as listed.
    const forgotten = state === 'closed' ? this.#isForgotten().catch(() => false) : false;
    const reply = await this.#persist(async () => {
      const head = state === 'aborted' ? await readHead(redis, this.#keys) : undefined;
      const stored = head ? chunkKeys(this.#keys, head.writers, head.freed, head.chunks) : [];
      return (await fileClose.run(
        redis,
        { ...this.#keys, chunks: [this.#keys.chunk(this.#token, head?.chunks ?? this.chunks), ...stored] },
        {
          publish: hub.publishCommand,
          token: this.#token,
          state,
          detail,
          keepMs: this.#limits.keepMs,
          written: this.chunks,
        },
      )) as number;
    });
    if (reply === NOT_STORED) this.#fail(new FileForgottenError(this.#file.name));
    const isGone =
      reply === LOST && (await this.#persist(() => wasEnded(this.#context, this.#file, state, detail)));
    if (reply === LOST && !isGone && !this.isUnread) this.#throwRefused(LOST);
    this.#isEnded = true;
    this.isUnread ||= reply === UNNEEDED || isGone;
    if (await forgotten) this.#fail(new FileForgottenError(this.#file.name));
    return reply > 0 || isGone;
  }

  async #isForgotten(): Promise<boolean> {
    const { id } = this.#file;
    return id !== undefined && isForgotten(this.#context, this.#file, id);
  }

  /** Releases the lease, so that another writer can continue at once. Ignores errors. */
  async release(): Promise<void> {
    this.#isReleased = true;
    await this.#renewal.stop();
    this.#updates.close();
    if (!this.#isEnded) await this.#lease(0).catch(() => 0);
  }

  /** Also repairs a lost wake-up of a sender that waits for room. */
  async #renew(): Promise<number> {
    const everyMs = Math.min(this.#limits.leaseMs, this.#limits.keepMs) / 3;
    await this.#keepChannel(everyMs);
    const dueMs = this.#committedAt + everyMs - performance.now();
    if (dueMs > 0) return dueMs;
    const reply = await this.#lease(this.#limits.leaseMs);
    const hasForgotten = reply >= 0 && (await this.#isForgotten());
    if (reply < 0 || hasForgotten) {
      try {
        if (hasForgotten) this.#fail(new FileForgottenError(this.#file.name));
        else this.#throwRefused(reply);
      } catch {
        // The sender gets the error from its next call.
        this.#updates.wake();
        return Infinity;
      }
    } else this.#updates.freedBytes = Math.max(this.#updates.freedBytes, reply);
    this.#updates.wake();
    return everyMs;
  }

  /** Extends the lifetime of the channel, since there may be no receiver to do so. */
  async #keepChannel(everyMs: number): Promise<void> {
    const { keepMs } = this.#limits;
    const now = performance.now();
    if (now < this.#keptAt + Math.max(everyMs, keepMs / 8)) return;
    const { redis, channelKeys } = this.#context;
    const { head, files, listed, done, receivers, sent } = channelKeys;
    const keys = [head, files, listed, done, receivers, sent];
    await Promise.all(keys.map(async (key) => callRedis(redis, 'pexpire', [key, keepMs, 'GT'])));
    this.#keptAt = now;
  }

  async #lease(leaseMs: number): Promise<number> {
    const { redis, hub } = this.#context;
    const args = { publish: hub.publishCommand, token: this.#token, chunks: this.chunks, leaseMs };
    return (await fileRenew.run(redis, this.#keys, args)) as number;
  }

  #throwRefused(reply: number): void {
    if (reply !== UNREAD && reply !== ENDED) {
      this.#fail(
        reply === NOT_STORED
          ? new FileForgottenError(this.#file.name)
          : new LeaseLostError(`file "${this.#file.name}" of channel "${this.#context.channel}"`),
      );
    }
    this.isUnread = true;
  }

  #fail(failure: Error): never {
    this.#failure = failure;
    this.#ending.abort(failure);
    throw failure;
  }
}
