/**
 * Files that travel through Redis while they are being written.
 *
 * A channel has a fixed set of receivers, and each gets every file. A file is listed in the channel's slot before its first byte is sent, and
 * is cut into chunks, which lie in a slot of the file's own. What all receivers have passed is freed at once; the sender waits while
 * its window is full, so a file may be larger than Redis' memory. The list is a small log of the channel and not a chat: a file's place,
 * its reservation in the budget, who is done with it and the end of the channel have to change together and in any order, and nothing
 * may be dropped by age; a chat has one cursor for each member, and caps.
 */
import { createHash, randomUUID } from 'node:crypto';
import type { Dirent } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { basename, join, relative, sep } from 'node:path';
import type { Readable } from 'node:stream';
import type { RedisClient } from '@mortise/redis';
import { encodeName, requireClient, requireName, WaiterHub } from '@mortise/redis';
import { ChannelEndedError, ReceiversDifferError, SourceChangedError } from '../errors.js';
import { MessagingKeys } from '../keys.js';
import { filesOpen } from '../scripts.gen.js';
import { ChunkFiller } from './chunk-filler.js';
import { DeadReceivers } from './dead-receivers.js';
import { FileNews } from './file-news.js';
import { idOfPath, readPath } from './file-source.js';
import { FileWriter } from './file-writer.js';
import type { FilesContext } from './files-context.js';
import { RECHECK_MS } from './files-context.js';
import type { FileSenderLimits, FileSenderOptions, SendFileOptions } from './options.js';
import { resolveFileSenderOptions } from './options.js';
import { PrefixCheck } from './prefix-check.js';
import { Settling } from './settling.js';

/** A file that was sent. */
export interface SentFile {
  readonly name: string;
  readonly id: string;
  /** Its place among the files of the channel, from 1. */
  readonly number: number;
  readonly bytes: number;
  /** Of the whole file, in hex. Empty when it had been sent before. */
  readonly sha256: string;
  /** It had been sent before, by this id; nothing was read. */
  readonly isDuplicate: boolean;
  /** How many bytes had been sent by an earlier `send`, on which this one went on. */
  readonly resumedAt: number;
}

/** More files than these wait for room in the list, as if the budget were used up. */
const MAX_LISTED = 1_000;
/** Ids of files that all receivers are done with, so that a restarted sender doesn't send them again. */
const REMEMBERED = 10_000;

/** The sender of a channel. Several processes may send to one channel; each file has one writer at a time. */
export class FileSender {
  readonly #context: FilesContext;
  readonly #limits: FileSenderLimits;
  readonly #settling: Settling;
  readonly #holder = randomUUID();

  /** Sends nothing. Throws TypeError or RangeError for options that are out of range. */
  constructor(redis: RedisClient, channel: string, options: FileSenderOptions) {
    const keys = new MessagingKeys(options?.prefix);
    this.#context = {
      redis: requireClient(redis),
      channel,
      keys,
      channelKeys: keys.fileChannel(channel),
      hub: WaiterHub.of(redis),
    };
    this.#limits = resolveFileSenderOptions(options);
    this.#settling = new Settling(this.#context, this.#limits.ttlMs);
  }

  /**
   * Sends a file; receivers see it from its first bytes on. Resolves when its end is in Redis, which is as soon as the slowest receiver is
   * a window behind. Waits while the budget of the channel is used up, and while another writer has the lease of the file. What was sent
   * of it before, by its id, is read again (for the SHA-256, and to compare) but not sent. Two commands in one round trip for each chunk.
   *
   * When the process dies, the file stays open, and `send` with the same source goes on. When the source fails, is
   * truncated or is not what was sent before, the file is aborted, and receivers are told. Rejects with the error of the source,
   * ERR_SOURCE_CHANGED, ERR_FILE_LEASE_LOST, ERR_RECEIVER_DEAD, ERR_RECEIVERS_DIFFER, ERR_CHANNEL_ENDED.
   */
  async send(source: string | Readable, options: SendFileOptions = {}): Promise<SentFile> {
    const isPath = typeof source === 'string';
    const name = requireName('name', options.name ?? (isPath ? basename(source) : undefined));
    const stats = isPath ? await stat(source) : undefined;
    if (stats?.isDirectory()) throw new TypeError(`${name} is a directory: use sendDirectory`);
    const id = requireName('id', options.id ?? (isPath ? await idOfPath(source, name) : randomUUID()));
    // A file that is there needs no more room than it has bytes, whole or growing.
    const { windowBytes, chunkBytes } = this.#limits;
    const needed = stats && !options.follow ? stats.size + 2 * chunkBytes : Infinity;
    const { number, receivers, reserved, isFinished } = await this.#list(
      { id, name, reserve: Math.min(windowBytes, needed) },
      options.signal,
    );
    const sent = { name, id, number, bytes: 0, sha256: '', isDuplicate: true, resumedAt: 0 };
    if (isFinished) return sent;
    const writer = await FileWriter.open(
      this.#context,
      this.#limits,
      { name, number, receivers, windowBytes: reserved, holder: `${this.#holder}:${randomUUID()}` },
      options.signal,
    );
    if (!writer) return sent;
    try {
      const resumedAt = writer.bytes;
      const content = isPath ? readPath(source, name, options.follow) : source;
      const sha256 = await this.#write(writer, name, content, options);
      return { ...sent, bytes: writer.bytes, sha256, isDuplicate: false, resumedAt };
    } finally {
      await writer.release();
    }
  }

  /**
   * Sends the files of a directory and of those below it, one after the other, sorted by their paths; the names have `/`
   * between their parts. What is neither a file nor a directory is left out. Costs and rejections as for `send`.
   */
  async sendDirectory(
    directory: string,
    options: Omit<SendFileOptions, 'name' | 'id' | 'follow'> = {},
  ): Promise<SentFile[]> {
    const entries: Dirent[] = await readdir(directory, { recursive: true, withFileTypes: true });
    const paths = entries
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name));
    const named = paths.map((path) => ({ path, name: relative(directory, path).replaceAll(sep, '/') }));
    const sent: SentFile[] = [];
    for (const { path, name } of named.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
      sent.push(await this.send(path, { ...options, name }));
    }
    return sent;
  }

  /**
   * No more files: receivers that are done with all that were sent come to an end. Files that are being sent are still
   * delivered. When all receivers are done with all files, nothing is left of the channel, but for what tells
   * latecomers, for a minute, that it has ended. Repeating it is safe. One round trip.
   */
  async end(): Promise<void> {
    await this.#settling.remove([], true);
  }

  /**
   * Resolves when all receivers are done with all files that were sent, here or elsewhere. Finishes what receivers that died have
   * left half done, and treats those who are missing as `deadReceivers` says.
   */
  async received({ signal }: { signal?: AbortSignal } = {}): Promise<void> {
    const { redis, channelKeys } = this.#context;
    await this.#whileBlocked(
      async () => (await redis.call('exists', [channelKeys.listed])) === 0 || undefined,
      signal,
    );
  }

  /**
   * Gives up a file that was not sent to its end, by its id: frees what is stored, and tells its receivers, who get
   * ERR_FILE_ABORTED. Waits for the lease of a writer that may still be there. Returns whether there was such a file.
   */
  async abort(id: string, reason = 'the sender gave it up'): Promise<boolean> {
    const { redis, channelKeys } = this.#context;
    const number = (await redis.call('zscore', [channelKeys.files, encodeName(requireName('id', id))])) as
      | string
      | null;
    const entry =
      number === null ? null : ((await redis.call('hget', [channelKeys.listed, number])) as string | null);
    if (number === null || entry === null) return false;
    const file = {
      name: id,
      number: Number(number),
      receivers: this.#limits.receivers,
      windowBytes: this.#limits.windowBytes,
      holder: this.#holder,
    };
    const writer = await FileWriter.open(this.#context, this.#limits, file, undefined);
    if (!writer) return false;
    try {
      return await writer.close('aborted', reason);
    } finally {
      await writer.release();
      // Those who were done before it was opened have a cursor again.
      await this.#settling.finish(file.number, [], '');
    }
  }

  async #list(
    { id, name, reserve }: { id: string; name: string; reserve: number },
    signal: AbortSignal | undefined,
  ): Promise<{
    number: number;
    receivers: readonly string[];
    reserved: number;
    isFinished: boolean;
  }> {
    const { redis, channel, channelKeys, hub } = this.#context;
    const { receivers, budgetBytes, ttlMs } = this.#limits;
    const all = receivers.map(encodeName);
    return this.#whileBlocked(async () => {
      const [answer, number = 0, reserved = 0, ...undone] = (await filesOpen.run(redis, channelKeys, {
        publish: hub.publishCommand,
        id: encodeName(id),
        name: encodeName(name),
        reserve,
        budget: budgetBytes,
        maxListed: MAX_LISTED,
        remembered: REMEMBERED,
        ttlMs,
        names: all,
      })) as [string, number?, number?, ...string[]];
      if (answer === 'ended') throw new ChannelEndedError(channel);
      if (answer === 'differ') throw new ReceiversDifferError(channel);
      if (answer === 'full') return undefined;
      if (answer === 'finished') return { number, receivers: [], reserved, isFinished: true };
      const left = receivers.filter((_, index) => undone.includes(all[index]!));
      // All are done, and somebody died before the file was taken off the list.
      if (left.length === 0) await this.#settling.finish(number, [], '');
      return { number, receivers: left, reserved, isFinished: left.length === 0 };
    }, signal);
  }

  /** Asks again whenever something changes in the channel, and in bounded time, until there is an answer. */
  async #whileBlocked<Answer>(
    ask: () => Promise<Answer | undefined>,
    signal: AbortSignal | undefined,
  ): Promise<Answer> {
    signal?.throwIfAborted();
    const first = await ask();
    if (first !== undefined) return first;
    const { channelKeys, hub } = this.#context;
    const dead = new DeadReceivers(this.#context, this.#limits, this.#settling);
    const news = await FileNews.open(hub, channelKeys.events);
    try {
      for (let lookAt = 0; ;) {
        if (performance.now() >= lookAt) {
          await dead.look();
          lookAt = performance.now() + this.#recheckMs;
        }
        const answer = await ask();
        if (answer !== undefined) return answer;
        await news.wait(this.#recheckMs, signal);
      }
    } finally {
      news.close();
    }
  }

  get #recheckMs(): number {
    return Math.min(RECHECK_MS, Math.max(100, this.#limits.graceMs / 2));
  }

  async #write(
    writer: FileWriter,
    name: string,
    content: AsyncIterable<Uint8Array | string>,
    { signal, onProgress }: SendFileOptions,
  ): Promise<string> {
    const hash = createHash('sha256');
    const filler = new ChunkFiller(content, this.#limits.chunkBytes, this.#limits.lingerMs);
    const dead = new DeadReceivers(this.#context, this.#limits, this.#settling);
    try {
      const check = new PrefixCheck(hash);
      const found = await filler.passOver(writer.bytes, (piece) => check.add(piece));
      if (found < writer.bytes || check.crc !== writer.crc) {
        throw new SourceChangedError(name, `its first ${writer.bytes} bytes are not those that were sent`);
      }
      while (!writer.isUnread) {
        const chunk = await filler.next(signal);
        if (!chunk) break;
        check.hash(chunk);
        for (let lookAt = 0; !writer.isUnread && !writer.hasRoomFor(chunk.length);) {
          if (performance.now() >= lookAt) {
            await dead.look();
            lookAt = performance.now() + this.#recheckMs;
          }
          if (!writer.hasRoomFor(chunk.length)) await writer.waitForRoom(this.#recheckMs, signal);
        }
        if (!writer.isUnread) await writer.write(chunk, signal);
        onProgress?.({ name, bytes: writer.bytes, storedBytes: writer.storedBytes });
      }
      const sha256 = hash.digest('hex');
      await writer.close('closed', sha256, signal);
      return sha256;
    } catch (error) {
      const isStopped = signal?.aborted && error === signal.reason;
      if (!isStopped && !writer.isLost)
        await writer.close('aborted', reasonOf(error), signal).catch(() => false);
      throw error;
    } finally {
      await filler.stop();
    }
  }
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
