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
import {
  ChannelEndedError,
  FileForgottenError,
  FileLeaseLostError,
  ReceiversDifferError,
  SourceChangedError,
} from '../errors.js';
import { MessagingKeys } from '../keys.js';
import { filesOpen } from '../scripts.gen.js';
import { FILE_BYTES, FILE_CHUNKS, FILE_WAITS } from '../telemetry/metrics.js';
import { Tally } from '../telemetry/tally.js';
import { bytesOf, ChunkFiller } from './chunk-filler.js';
import { CHUNK_HEADER_BYTES } from './chunk.js';
import { DeadReceivers } from './dead-receivers.js';
import { FileNews } from './file-news.js';
import { idOfPath, readPath } from './file-source.js';
import { entryOf, MAX_LISTED } from './listed-file.js';
import { FileWriter } from './file-writer.js';
import { gunzip } from './gunzip.js';
import { gzipMembers } from './gzip-members.js';
import type { FileId, FilesContext } from './files-context.js';
import { RECHECK_MS } from './files-context.js';
import type { FileSenderLimits, FileSenderOptions, SendFileOptions } from './options.js';
import { resolveFileSenderOptions } from './options.js';
import { PrefixCheck } from './prefix-check.js';
import type { SentFile, WantedFile } from './sent-file.js';
import { drawn } from './sent-file.js';
import { REMEMBERED, SentFiles } from './sent-files.js';
import { Settling } from './settling.js';
import { isForgotten } from './standing.js';

const SENT = { 'mortise.messaging.direction': 'sent' };
const FOR_WINDOW = { 'mortise.messaging.room': 'window' };
const FOR_BUDGET = { 'mortise.messaging.room': 'budget' };

/** The sender of a channel. Several processes may send to one channel; each file has one writer at a time. */
export class FileSender {
  readonly #context: FilesContext;
  readonly #limits: FileSenderLimits;
  readonly #settling: Settling;
  readonly #sent: SentFiles;
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
      tally: Tally.for(options?.telemetry, 'file'),
    };
    this.#limits = resolveFileSenderOptions(options);
    this.#settling = new Settling(this.#context, this.#limits.ttlMs);
    this.#sent = new SentFiles(this.#context, this.#settling, this.#limits.ttlMs);
  }

  /**
   * Sends a file; receivers see it from its first bytes on. Resolves when its end is in Redis, which is as soon as the slowest receiver is
   * a window behind. Waits while the budget of the channel is used up, and while another writer has the lease of the file. What was sent
   * of it before, by its id, is read again (for the SHA-256, and to compare) but not sent. Two commands in one round trip for each chunk.
   *
   * When the process dies, the file stays open, and `send` with the same source goes on. When the source fails, is
   * truncated or is not what was sent before, the file is aborted, and receivers are told. When Redis has forgotten that the file was listed, or
   * chunks that were sent, as after a failover, a path is sent again, under the same `fileId` in the first case; of anything else `send` rejects with
   * ERR_FILE_FORGOTTEN, and goes on when it is called again. That is seen within a third of the lease; of files before, whose end is forgotten,
   * when a `send` waits for room: paths are sent again meanwhile, and for anything else it rejects with ERR_FILE_FORGOTTEN, which names
   * that file. Rejects with the error of the source, ERR_SOURCE_CHANGED, ERR_FILE_LEASE_LOST, ERR_RECEIVER_DEAD, ERR_RECEIVERS_DIFFER, ERR_CHANNEL_ENDED.
   */
  async send(
    source: string | Readable | AsyncIterable<Uint8Array>,
    options: SendFileOptions = {},
  ): Promise<SentFile> {
    const isPath = typeof source === 'string';
    const given = requireName('name', options.name ?? (isPath ? basename(source) : undefined));
    const name = options.gzip && !given.endsWith('.gz') ? requireName('name', `${given}.gz`) : given;
    const stats = isPath ? await stat(source) : undefined;
    if (stats?.isDirectory()) throw new TypeError(`${name} is a directory: use sendDirectory`);
    const id = requireName('id', options.id ?? (isPath ? await idOfPath(source, name) : randomUUID()));
    // A file that is there needs no more room than it has bytes, whole or growing.
    const { windowBytes, chunkBytes } = this.#limits;
    const isSized = stats && !options.follow && !options.gzip;
    const headers = CHUNK_HEADER_BYTES * Math.ceil((stats?.size ?? 0) / (chunkBytes - CHUNK_HEADER_BYTES));
    const needed = isSized ? stats.size + headers + 2 * chunkBytes : Infinity;
    const wanted = { given, name, id, fileId: drawn(), reserve: Math.min(windowBytes, needed) };
    this.#sent.remove(id);
    for (;;) {
      try {
        const sent = await this.#sendListed(source, wanted, options);
        const again = isPath && !options.follow && { name: given, id, gzip: options.gzip ?? false };
        this.#sent.add(sent, again ? (stop) => this.send(source, { ...again, ...stop }) : undefined);
        return sent;
      } catch (error) {
        const isOwn = error instanceof FileForgottenError && !this.#sent.hasTold(error);
        if (!isPath || !isOwn) throw error;
      }
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
    await this.#sent.whole(options.signal);
    return sent;
  }

  /**
   * No more files: receivers that are done with all that were sent come to an end. Files that are being sent are still
   * delivered. When all receivers are done with all files, nothing is left of the channel, but for what tells
   * latecomers, for a minute, that it has ended. What a failover has forgotten is sent again before. Repeating it is safe. Three round
   * trips. Throws ERR_FILE_FORGOTTEN, and then the channel goes on.
   */
  async end(): Promise<void> {
    await this.#sent.whole(undefined);
    await this.#settling.remove([], true);
  }

  /**
   * Resolves when all receivers are done with all files that were sent, here or elsewhere. Finishes what receivers that died have
   * left half done, and treats those who are missing as `deadReceivers` says.
   */
  async received({ signal }: { signal?: AbortSignal } = {}): Promise<void> {
    const { redis, channelKeys } = this.#context;
    await this.#whileBlocked(async () => {
      const isEmpty = (await redis.call('exists', [channelKeys.listed])) === 0;
      return (isEmpty && (await this.#sent.look(signal))) || undefined;
    }, signal);
  }

  /**
   * Gives up a file that was not sent to its end, by its id: frees what is stored, and tells its receivers, who get
   * ERR_FILE_ABORTED. Waits for the lease of a writer that may still be there, until the signal. Returns whether there was such a file.
   */
  async abort(
    id: string,
    reason = 'the sender gave it up',
    { signal }: { readonly signal?: AbortSignal } = {},
  ): Promise<boolean> {
    const { redis, channelKeys } = this.#context;
    this.#sent.remove(id);
    const [number, epoch] = (await Promise.all([
      redis.call('zscore', [channelKeys.files, encodeName(requireName('id', id))]),
      redis.call('hget', [channelKeys.head, 'epoch']),
    ])) as [string | null, string | null];
    const entry =
      number === null ? null : ((await redis.call('hget', [channelKeys.listed, number])) as string | null);
    if (number === null || entry === null || epoch === null) return false;
    const file = {
      name: id,
      number: Number(number),
      epoch,
      fileId: entryOf(Number(number), entry).fileId,
      receivers: this.#limits.receivers,
      windowBytes: this.#limits.windowBytes,
      holder: this.#holder,
    };
    const writer = await FileWriter.open(this.#context, this.#limits, file, signal);
    if (!writer) return false;
    try {
      return await writer.close('aborted', reason);
    } finally {
      await writer.release();
      // Those who were done before it was opened have a cursor again.
      await this.#settling.finish(file, [], '');
    }
  }

  async #sendListed(
    source: string | Readable | AsyncIterable<Uint8Array>,
    wanted: WantedFile,
    options: SendFileOptions,
  ): Promise<SentFile> {
    const { name, given, id } = wanted;
    const { receivers, reserved, isFinished, ...file } = await this.#list(wanted, options.signal);
    const sent = { name, id, ...file, bytes: 0, sha256: '', isDuplicate: true, resumedAt: 0 };
    if (isFinished) return sent;
    const asked = async (): Promise<boolean> => isForgotten(this.#context, file, id);
    const holder = `${this.#holder}:${randomUUID()}`;
    const writer = await FileWriter.open(
      this.#context,
      this.#limits,
      { name, ...file, receivers, windowBytes: reserved, holder, isForgotten: asked },
      options.signal,
    );
    if (!writer) return sent;
    try {
      // Another sender may have sent it since it was listed: what was opened then is read by nobody.
      const isOver =
        receivers.length === 0 || (writer.isNew && (await this.#settling.isOver(file, receivers)));
      if (isOver === undefined) throw new FileForgottenError(name);
      if (isOver) {
        await writer.close('aborted', 'all receivers were done with it');
        await this.#settling.finish(file, [], '');
        return sent;
      }
      const resumedAt = writer.bytes;
      const plain = typeof source === 'string' ? readPath(source, name, options.follow) : source;
      const content = options.gzip
        ? gzipMembers(given === name ? gunzip(bytesOf(plain), name) : plain)
        : plain;
      const sha256 = await this.#write(writer, name, content, options);
      return { ...sent, bytes: writer.bytes, sha256, isDuplicate: false, resumedAt };
    } catch (error) {
      const isDoubtful = error instanceof FileLeaseLostError || error instanceof FileForgottenError;
      if (!isDoubtful || this.#sent.hasTold(error) || !(await asked())) throw error;
      await this.#clear(writer, file);
      throw new FileForgottenError(name);
    } finally {
      await writer.release();
    }
  }

  /** What is stored of a file that isn't listed any more, as well as it can. */
  async #clear(writer: FileWriter, file: FileId): Promise<void> {
    try {
      await writer.close('aborted', 'Redis has forgotten that it was listed').catch(() => false);
      await this.#settling.clear(file, this.#limits.receivers);
    } catch {
      // It goes away after `ttlMs`.
    }
  }

  async #list(
    { id, name, fileId, reserve }: WantedFile,
    signal: AbortSignal | undefined,
  ): Promise<{
    number: number;
    epoch: string;
    fileId: string;
    receivers: readonly string[];
    reserved: number;
    isFinished: boolean;
  }> {
    const { redis, channel, channelKeys, hub } = this.#context;
    const { receivers, budgetBytes, ttlMs } = this.#limits;
    const all = receivers.map(encodeName);
    let fullAt: number | undefined;
    return this.#whileBlocked(async () => {
      const [answer, epoch = '', number = 0, reserved = 0, listedId = '', ...undone] = (await filesOpen.run(
        redis,
        channelKeys,
        {
          publish: hub.publishCommand,
          id: encodeName(id),
          name: encodeName(name),
          reserve,
          budget: budgetBytes,
          maxListed: MAX_LISTED,
          remembered: REMEMBERED,
          ttlMs,
          newEpoch: drawn(),
          newFileId: fileId,
          names: all,
        },
      )) as [string, string?, number?, number?, string?, ...string[]];
      if (answer === 'ended') throw new ChannelEndedError(channel);
      if (answer === 'differ') throw new ReceiversDifferError(channel);
      if (answer === 'full') {
        fullAt ??= performance.now();
        return undefined;
      }
      if (fullAt !== undefined) {
        this.#context.tally?.record(FILE_WAITS, (performance.now() - fullAt) / 1_000, FOR_BUDGET);
      }
      const file = { number, epoch, fileId: listedId };
      if (answer === 'finished') return { ...file, receivers: [], reserved, isFinished: true };
      const left = receivers.filter((_, index) => undone.includes(all[index]!));
      if (left.length > 0) return { ...file, receivers: left, reserved, isFinished: false };
      // All are done. Somebody died before the file was taken off the list; or its writer did, and it is still open.
      await this.#settling.finish(file, [], '');
      const isListed = await redis.call('hexists', [channelKeys.listed, number]);
      return { ...file, receivers: [], reserved, isFinished: isListed === 0 };
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
    const look = this.#lookout(signal);
    const news = await FileNews.open(hub, channelKeys.events);
    try {
      for (;;) {
        await look();
        const answer = await ask();
        if (answer !== undefined) return answer;
        await news.wait(this.#recheckMs, signal);
      }
    } finally {
      news.close();
    }
  }

  /** Of who waits: looks after what might be why, in bounded time. */
  #lookout(signal: AbortSignal | undefined): () => Promise<void> {
    const dead = new DeadReceivers(this.#context, this.#limits, this.#settling);
    let lookAt = 0;
    return async () => {
      if (performance.now() < lookAt) return;
      await dead.look();
      await this.#sent.look(signal);
      lookAt = performance.now() + this.#recheckMs;
    };
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
    const { tally } = this.#context;
    const hash = createHash('sha256');
    const filler = new ChunkFiller(content, this.#limits.chunkBytes, this.#limits.lingerMs);
    const look = this.#lookout(signal);
    try {
      const check = new PrefixCheck(hash);
      writer.onCommitted = (chunk) => {
        tally?.count(FILE_CHUNKS, 1, SENT);
        tally?.count(FILE_BYTES, chunk.length - CHUNK_HEADER_BYTES, SENT);
        filler.recycle(chunk);
        onProgress?.({ name, bytes: writer.bytes, storedBytes: writer.storedBytes });
      };
      const found = await filler.passOver(writer.bytes, (piece) => check.add(piece));
      if (found < writer.bytes || check.crc !== writer.crc) {
        throw new SourceChangedError(name, `its first ${writer.bytes} bytes are not those that were sent`);
      }
      const ending = signal ? AbortSignal.any([signal, writer.ending]) : writer.ending;
      while (!writer.isUnread) {
        const chunk = await filler.next(ending);
        if (!chunk) break;
        check.hash(chunk);
        const isFull = !writer.hasRoomFor(chunk.length);
        const fullAt = performance.now();
        while (!writer.isUnread && !writer.hasRoomFor(chunk.length)) {
          await look();
          if (!writer.hasRoomFor(chunk.length)) await writer.waitForRoom(this.#recheckMs, signal);
        }
        if (isFull) tally?.record(FILE_WAITS, (performance.now() - fullAt) / 1_000, FOR_WINDOW);
        if (!writer.isUnread) await writer.write(chunk);
      }
      await writer.flush();
      const sha256 = hash.digest('hex');
      await writer.close('closed', sha256);
      return sha256;
    } catch (error) {
      const isStopped = (signal?.aborted && error === signal.reason) || this.#sent.hasTold(error);
      if (!isStopped && !writer.isLost) await writer.close('aborted', reasonOf(error)).catch(() => false);
      throw error;
    } finally {
      await filler.stop();
    }
  }
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
