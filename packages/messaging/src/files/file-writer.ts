/**
 * One file that is being sent, by the holder of its writer's lease.
 *
 * A chunk is stored by `SET … XX`, natively, since a payload that goes through Lua is copied twice more; then a script makes it
 * visible. Its key has the fencing token of the writer, and XX lets it be stored only where the script before has made
 * an empty key. A takeover removes that key, so a writer that was silent for too long stores nothing, overwrites nothing and leaves nothing.
 */
import { ClientClosedError, encodeName, Loop } from '@mortise/redis';
import { FileLeaseLostError } from '../errors.js';
import { persist } from '../persist.js';
import type { FileKeys } from '../keys.js';
import { fileClose, fileCommit, fileOpen, fileRenew } from '../scripts.gen.js';
import { CHUNK_HEADER_BYTES, sealChunk } from './chunk.js';
import { FileNews } from './file-news.js';
import type { FileHead } from './file-state.js';
import { chunkKeys, readHead } from './file-state.js';
import type { FilesContext } from './files-context.js';
import type { FileSenderLimits } from './options.js';

/** What the scripts say instead of a number of bytes. */
const LOST = -1;
const ENDED = -2;
const NOT_STORED = -3;
const UNREAD = -4;

export class FileWriter {
  /** Committed so far, also by writers before. */
  chunks = 0;
  bytes = 0;
  crc = 0;
  /** All receivers are done with the file: nobody wants the rest. */
  isUnread = false;
  readonly #context: FilesContext;
  readonly #limits: FileSenderLimits;
  readonly #name: string;
  readonly #keys: FileKeys;
  readonly #news: FileNews;
  readonly #renewal: Loop;
  #token = 0;
  #windowBytes = 0;
  #stored = 0;
  #failure: Error | undefined;
  #committedAt = 0;
  #isEnded = false;

  private constructor(
    context: FilesContext,
    limits: FileSenderLimits,
    name: string,
    number: number,
    news: FileNews,
  ) {
    this.#context = context;
    this.#limits = limits;
    this.#name = name;
    this.#keys = context.keys.file(context.channel, number);
    this.#news = news;
    this.#renewal = new Loop('mortise file writer', () => this.#renew(), { onError: () => undefined });
  }

  /**
   * Takes the lease, when that of another writer has ended. Undefined when the file has ended: it was sent. A file that isn't
   * there (yet, or any more) begins anew, for those receivers who are not done.
   */
  static async open(
    context: FilesContext,
    limits: FileSenderLimits,
    file: {
      name: string;
      number: number;
      windowBytes: number;
      receivers: readonly string[];
      holder: string;
    },
    signal: AbortSignal | undefined,
  ): Promise<FileWriter | undefined> {
    const { events } = context.keys.file(context.channel, file.number);
    const news = await FileNews.open(context.hub, events);
    const writer = new FileWriter(context, limits, file.name, file.number, news);
    try {
      const isOpen = await writer.#open(file, signal);
      if (isOpen) return writer;
      news.close();
      return undefined;
    } catch (error) {
      news.close();
      throw error;
    }
  }

  async #open(
    { receivers, holder, windowBytes }: { receivers: readonly string[]; holder: string; windowBytes: number },
    signal?: AbortSignal,
  ): Promise<boolean> {
    const { redis } = this.#context;
    for (;;) {
      // Before the look, so that what is said during it counts.
      this.#news.isStale = false;
      const head = await readHead(redis, this.#keys);
      if (head && head.state !== 'open') return false;
      const chunks = head?.chunks ?? 0;
      const token = head?.token ?? 0;
      const [answer, detail] = (await fileOpen.run(
        redis,
        {
          file: this.#keys.file,
          cursors: this.#keys.cursors,
          next: this.#keys.chunk(token + 1, chunks),
          before: this.#keys.chunk(token, chunks),
        },
        {
          holder,
          leaseMs: this.#limits.leaseMs,
          ttlMs: this.#limits.ttlMs,
          chunks,
          token,
          chunkBytes: this.#limits.chunkBytes,
          windowBytes,
          receivers: receivers.map(encodeName),
        },
      )) as [string, number];
      if (answer === 'held') {
        this.#windowBytes = windowBytes;
        this.#take(head, detail);
        return true;
      }
      if (answer === 'busy') await this.#waitForLease(detail + 1, signal);
    }
  }

  /** Another writer may end the file, or give it up, before its lease is over. */
  async #waitForLease(ms: number, signal?: AbortSignal): Promise<void> {
    const until = performance.now() + ms;
    for (let left = ms; left > 0 && !this.#news.isStale; left = until - performance.now()) {
      await this.#news.wait(left, signal);
    }
  }

  #take(head: FileHead | undefined, token: number): void {
    this.#token = token;
    this.chunks = head?.chunks ?? 0;
    this.bytes = head?.bytes ?? 0;
    this.crc = head?.crc ?? 0;
    this.#stored = head?.stored ?? 0;
    this.#news.freedBytes = Math.max(this.#news.freedBytes, head?.freedBytes ?? 0);
    this.#committedAt = performance.now();
    this.#renewal.start();
  }

  /** Of the chunks that are in Redis. */
  get storedBytes(): number {
    return this.#stored - this.#news.freedBytes;
  }

  /** Whether a chunk of so many bytes, as stored, fits the window. */
  hasRoomFor(bytes: number): boolean {
    return this.storedBytes + bytes <= this.#windowBytes;
  }

  /** Resolves when something was freed, or might have been; after `ms` at the latest. */
  async waitForRoom(ms: number, signal?: AbortSignal): Promise<void> {
    await this.#news.wait(ms, signal);
    this.throwIfLost();
  }

  /** Another writer has the file. */
  get isLost(): boolean {
    return this.#failure instanceof FileLeaseLostError;
  }

  throwIfLost(): void {
    if (this.#failure) throw this.#failure;
  }

  /**
   * Stores a chunk, whose part stands behind the place of its header, and makes it visible. Two commands, one round trip. Passing errors
   * of the connection are tried again, as both may be repeated. Throws ERR_FILE_LEASE_LOST.
   */
  async write(chunk: Buffer, signal?: AbortSignal): Promise<void> {
    this.throwIfLost();
    const crc = sealChunk(chunk, this.bytes, this.crc);
    const bytes = chunk.length - CHUNK_HEADER_BYTES;
    const reply = await persist(
      () => !signal?.aborted && this.#context.redis.status !== 'end',
      () => this.#send(chunk, bytes, crc),
    );
    if (reply === undefined) throw stoppedBy(signal);
    if (reply < 0) return this.#refused(reply);
    this.chunks += 1;
    this.bytes += bytes;
    this.crc = crc;
    this.#stored += chunk.length;
    this.#committedAt = performance.now();
    this.#news.freedBytes = Math.max(this.#news.freedBytes, reply);
  }

  async #send(chunk: Buffer, bytes: number, crc: number): Promise<number> {
    const { redis, hub } = this.#context;
    const { leaseMs, ttlMs } = this.#limits;
    const keys = {
      file: this.#keys.file,
      cursors: this.#keys.cursors,
      chunk: this.#keys.chunk(this.#token, this.chunks),
      next: this.#keys.chunk(this.#token, this.chunks + 1),
      events: this.#keys.events,
    };
    const [isSet, committed] = await Promise.allSettled([
      redis.call('set', [keys.chunk, chunk, 'XX', 'PX', ttlMs]),
      fileCommit.run(redis, keys, {
        publish: hub.publishCommand,
        token: this.#token,
        index: this.chunks,
        stored: chunk.length,
        bytes,
        crc,
        leaseMs,
        ttlMs,
      }) as Promise<number>,
    ]);
    // The script says whether the chunk is there, and whether it was so before.
    if (committed.status === 'rejected') throw committed.reason;
    if (committed.value !== NOT_STORED) return committed.value;
    if (isSet.status === 'rejected') throw isSet.reason;
    // On Cluster the two may have taken different ways, to a slot that moves.
    return isSet.value === 'OK' ? this.#send(chunk, bytes, crc) : committed.value;
  }

  /**
   * Ends the file: whole, with its SHA-256, or aborted, with a reason. Returns whether it did; otherwise it had ended before.
   */
  async close(state: 'closed' | 'aborted', detail: string, signal?: AbortSignal): Promise<boolean> {
    const { redis, hub } = this.#context;
    const reply = await persist(
      () => !signal?.aborted && redis.status !== 'end',
      async () => {
        const head = state === 'aborted' ? await readHead(redis, this.#keys) : undefined;
        const stored = head ? chunkKeys(this.#keys, head.segments, head.freed, head.chunks) : [];
        return (await fileClose.run(
          redis,
          {
            file: this.#keys.file,
            cursors: this.#keys.cursors,
            events: this.#keys.events,
            chunks: [this.#keys.chunk(this.#token, this.chunks), ...stored],
          },
          { publish: hub.publishCommand, token: this.#token, state, detail, ttlMs: this.#limits.ttlMs },
        )) as number;
      },
    );
    if (reply === undefined) throw stoppedBy(signal);
    if (reply === LOST && !this.isUnread) this.#refused(LOST);
    this.#isEnded = true;
    return reply === 1;
  }

  /** Gives the lease up, so that another writer may go on at once; does so as well as it can. */
  async release(): Promise<void> {
    await this.#renewal.stop();
    this.#news.close();
    if (!this.#isEnded) await this.#lease(0).catch(() => 0);
  }

  /** Also the bounded second look of who waits for room. */
  async #renew(): Promise<number> {
    const everyMs = this.#limits.leaseMs / 3;
    const dueMs = this.#committedAt + everyMs - performance.now();
    if (dueMs > 0) return dueMs;
    const reply = await this.#lease(this.#limits.leaseMs);
    if (reply < 0) {
      try {
        this.#refused(reply);
      } catch {
        // The sender learns it when it next does something.
        this.#news.poke();
        return Infinity;
      }
    } else this.#news.freedBytes = Math.max(this.#news.freedBytes, reply);
    this.#news.poke();
    return everyMs;
  }

  async #lease(leaseMs: number): Promise<number> {
    const { redis, hub } = this.#context;
    const args = { publish: hub.publishCommand, token: this.#token, leaseMs };
    return (await fileRenew.run(redis, this.#keys, args)) as number;
  }

  #refused(reply: number): void {
    if (reply !== UNREAD && reply !== ENDED) {
      this.#failure = new FileLeaseLostError(this.#context.channel, `file "${this.#name}"`);
      throw this.#failure;
    }
    this.isUnread = true;
  }
}

/** What ended the attempts: the signal, or the client that was closed. */
function stoppedBy(signal: AbortSignal | undefined): Error {
  return signal?.aborted ? (signal.reason as Error) : new ClientClosedError();
}
