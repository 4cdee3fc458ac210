/**
 * A channel of files for services that pass files on, for example over HTTP. Their clients are receivers, and each request
 * may reach another process. So a receiver is a name here, not an object: processes with the same `holder` share its lease,
 * and each call renews it. A separate call acks the bytes that were read.
 */
import type { RedisClient } from '@mortise/redis';
import {
  callRedis,
  encodeName,
  requireInteger,
  requireName,
  requireNumber,
  requireObject,
} from '@mortise/redis';
import { ChannelRefusedError, FileAbortedError, FileUnreadableError, ReceiverBusyError } from '../errors.js';
import type { FilesKeys } from '../keys.js';
import { fileAck, fileJoin, channelJoin, channelLeave } from '../../scripts.gen.js';
import { locate } from './chunk-locator.js';
import { encodePosition } from '../chunk.js';
import { AbandonedUploads } from './abandoned-uploads.js';
import { ackedBytesOf } from './acked-bytes.js';
import type { ChannelStatus } from './channel-status.js';
import { channelStatus } from './channel-status.js';
import { FileUpdates } from '../file-updates.js';
import { FileSegment } from './file-segment.js';
import type { FileHead } from '../file-head.js';
import { chunkKeys, readHead } from '../file-head.js';
import type { FileId, FilesContext } from '../context.js';
import { filesContext, RECHECK_MS } from '../context.js';
import type { ListedEntry, ListedFile, SentUnderId } from '../listed-file.js';
import { entryOf, fileOf } from '../listed-file.js';
import type { ChannelStatusOptions, FileChannelOptions, ListFilesOptions } from '../options.js';
import {
  MAX_LISTED,
  MAX_RECEIVERS,
  resolveFileChannelOptions,
  resolveListOptions,
  resolveStatusOptions,
} from '../options.js';
import { leaseReceiver } from '../receive/lease-receiver.js';
import { Completion } from '../completion.js';
import type { ChannelReceiver } from '../receivers.js';
import { receiversOf } from '../receivers.js';

/** A listed file. A number alone may mean another file after the channel was forgotten and created again. */
export type FileRef = number | { readonly number: number; readonly epoch: string };

export class FileChannel {
  readonly #context: FilesContext;
  readonly #holder: string;
  readonly #leaseMs: number;
  readonly #keepMs: number;
  readonly #completion: Completion;
  readonly #discarded: AbandonedUploads;

  /** Sends nothing. Throws TypeError or RangeError for options out of range. */
  constructor(redis: RedisClient, channel: string, options: FileChannelOptions = {}) {
    this.#context = filesContext(redis, channel, options);
    const { holder, leaseMs, keepMs } = resolveFileChannelOptions(options);
    this.#holder = holder;
    this.#leaseMs = leaseMs;
    this.#keepMs = keepMs;
    this.#completion = new Completion(this.#context);
    this.#discarded = new AbandonedUploads(this.#context, this.#completion, this.#keepMs);
  }

  /**
   * Adds a receiver for files that are listed from now on. Returns false for an existing receiver, and to a call that ioredis
   * resends after a lost reply. Senders must name the same receivers from then on (`receivers`). Repeating the call is safe.
   * One script, O(listed files). Throws ERR_CHANNEL_ENDED, ERR_TOO_MANY_RECEIVERS.
   */
  async join(receiver: string): Promise<boolean> {
    const { redis, channel, channelKeys } = this.#context;
    const reply = await channelJoin.run(redis, channelKeys, {
      receiver: encodeName(requireName('receiver', receiver)),
      maxReceivers: MAX_RECEIVERS,
      keepMs: this.#keepMs,
    });
    if (reply === -1) throw new ChannelRefusedError('ERR_CHANNEL_ENDED', channel);
    if (reply === -2)
      throw new ChannelRefusedError('ERR_TOO_MANY_RECEIVERS', channel, { maxReceivers: MAX_RECEIVERS });
    return reply === 1;
  }

  /**
   * Removes a receiver: nothing waits for it any longer. Returns whether the receiver existed, and false to a call that ioredis
   * resends after a lost reply. Repeating the call is safe. One script, and three or four round trips for each listed file.
   */
  async leave(receiver: string): Promise<boolean> {
    const { redis, channelKeys } = this.#context;
    const name = encodeName(requireName('receiver', receiver));
    const [existed, ...numbers] = (await channelLeave.run(redis, channelKeys, { receiver: name })) as [
      number,
      ...string[],
    ];
    for (const number of numbers) {
      await this.#completion.finish(await this.#requireKnown(Number(number)), [], '');
    }
    return existed === 1;
  }

  /** The receivers of the channel, sorted by name. Two commands in one round trip. */
  async receivers(): Promise<ChannelReceiver[]> {
    return receiversOf(this.#context);
  }

  /**
   * Reads the bytes of the channel in Redis, its receivers, and a page of the listed files. Each file has the receivers that it
   * waits for, the slowest first. The call is for operators: it takes no lease, so it disturbs no receiver. It does not read at
   * one instant, since receivers go on meanwhile. A channel that doesn't exist is empty. Four round trips. O(listed files +
   * files of the page · receivers).
   */
  async status(options: ChannelStatusOptions = {}): Promise<ChannelStatus> {
    return channelStatus(this.#context, resolveStatusOptions(options));
  }

  /**
   * Returns the files that a receiver is not done with, in order, with numbers above `after`. Waits up to `waitMs` for a file.
   * Renews the receiver's lease. One script, then a command for each file in one round trip. Throws ERR_UNKNOWN_RECEIVER,
   * ERR_RECEIVER_BUSY, and the signal's reason.
   */
  async list(
    receiver: string,
    options: ListFilesOptions = {},
  ): Promise<{ files: ListedFile[]; isEnded: boolean }> {
    const { after, limit, waitMs } = resolveListOptions(options);
    const { signal } = options;
    const until = performance.now() + waitMs;
    let updates: FileUpdates | undefined;
    try {
      for (;;) {
        const { entries, isEnded } = await this.#lease(receiver);
        const found = entries.filter(({ number }) => number > after).slice(0, limit);
        const leftMs = until - performance.now();
        if (found.length > 0 || isEnded || leftMs <= 0) {
          return { files: await Promise.all(found.map(async (entry) => this.#look(entry))), isEnded };
        }
        // Files may have been listed before the subscription, so it looks once more.
        if (updates) await updates.wait(Math.min(leftMs, RECHECK_MS), signal);
        else updates = await FileUpdates.open(this.#context.hub, this.#context.channelKeys.events);
      }
    } finally {
      updates?.close();
    }
  }

  /** A listed file, which some receiver is not done with. Two round trips. Throws ERR_UNKNOWN_FILE. */
  async file(file: FileRef): Promise<ListedFile> {
    return this.#look(await this.#entry(file));
  }

  /**
   * The byte up to which a receiver has acked the file; undefined when it is done. Two round trips. Throws
   * ERR_UNKNOWN_FILE.
   */
  async ackedBytes(receiver: string, file: FileRef): Promise<number | undefined> {
    const { redis } = this.#context;
    const keys = this.#keysOf(await this.#entry(file));
    const [score, head] = await Promise.all([
      callRedis(redis, 'zscore', [keys.cursors, encodeName(receiver)]) as Promise<string | null>,
      readHead(redis, keys),
    ]);
    if (!head) return 0;
    if (score === null) return undefined;
    return ackedBytesOf(redis, keys, head, Number(score));
  }

  /**
   * Opens a file for a receiver at the byte `from`; the caller closes it. Renews the lease until then. Two to four round
   * trips, and the subscription. Throws ERR_UNKNOWN_FILE, ERR_UNKNOWN_RECEIVER, ERR_RECEIVER_BUSY, ERR_FILE_ABORTED, and
   * ERR_FILE_EXPIRED if the byte is not stored or the receiver is done with the file.
   */
  async open(receiver: string, file: FileRef, from: number, signal: AbortSignal): Promise<FileSegment> {
    requireInteger('from', from, { min: 0 });
    const entry = await this.#entry(file);
    const { token } = await this.#lease(receiver);
    const { name } = entry;
    let position = { chunk: 0, bytes: 0 };
    const keys = this.#keysOf(entry);
    const head = await readHead(this.#context.redis, keys);
    if (head?.state === 'aborted') throw new FileAbortedError(name, head.detail);
    if (from > 0 || (head && head.freed > 0)) {
      const found = head && (await locate(this.#context.redis, keys, head, from));
      if (!found) throw new FileUnreadableError('ERR_FILE_EXPIRED', name, { offset: from });
      position = found;
    }
    const reading = { ...entry, receiver, token, from: position, signal };
    return FileSegment.open(this.#context, reading, this.#leaseMs, () => this.#lease(receiver));
  }

  /**
   * Moves a receiver's cursor to the byte `upTo`, and frees the chunks that all receivers have passed. Repeating it, or
   * acking less, changes nothing. Returns the acked byte. Four to six round trips. Throws RangeError beyond the written
   * bytes, ERR_UNKNOWN_FILE, ERR_UNKNOWN_RECEIVER, ERR_RECEIVER_BUSY.
   */
  async ack(receiver: string, file: FileRef, upTo: number): Promise<number> {
    requireInteger('upTo', upTo, { min: 0 });
    const { redis, hub } = this.#context;
    const id = await this.#requireKnown(file);
    const { token } = await this.#lease(receiver);
    const keys = this.#keysOf(id);
    const name = encodeName(receiver);
    const [score] = (await fileJoin.run(redis, keys, { receiver: name, token })) as string[];
    if (score === 'lost') throw new ReceiverBusyError(this.#context.channel, receiver, 0);
    if (score === 'done') return upTo;
    const head = await readHead(redis, keys);
    requireInteger('upTo', upTo, { min: 0, max: head?.bytes ?? 0 });
    if (!head) return 0;
    const position = await locate(redis, keys, head, upTo);
    // The chunk was freed, so all receivers have passed the byte.
    if (!position) return upTo;
    const chunks = chunkKeys(keys, head.writers, head.freed, position.chunk);
    const reply = await fileAck.run(
      redis,
      { ...keys, chunks },
      {
        publish: hub.publishCommand,
        receiver: name,
        token,
        position: encodePosition(position),
        textBytes: '',
        first: head.freed,
      },
    );
    if (reply === -1) throw new ReceiverBusyError(this.#context.channel, receiver, 0);
    return upTo;
  }

  /**
   * Marks the file as handled or given up by a receiver. Repeating the call is safe. Four to six round trips. Errors are those
   * of `ack`.
   */
  async done(receiver: string, file: FileRef): Promise<void> {
    const id = await this.#requireKnown(file);
    const { token, isEnded } = await this.#lease(receiver);
    if (isEnded) return;
    const completed = await this.#completion.finish(id, [receiver], token);
    if (completed === 'lost') throw new ReceiverBusyError(this.#context.channel, receiver, 0);
  }

  /**
   * Removes a file for all receivers, with its stored bytes. A sender that still writes it stops. Throws ERR_UNKNOWN_FILE,
   * also for a file that was removed before.
   */
  async remove(file: FileRef): Promise<void> {
    const entry = await this.#entry(file);
    const names = (await this.receivers()).map(({ receiver }) => receiver);
    await this.#completion.finish(entry, names, '');
  }

  /**
   * Removes the file from the list if all receivers are done with it. Call this after writing a file that may have been removed
   * meanwhile.
   */
  async complete(file: FileRef): Promise<void> {
    await this.#completion.finish(await this.#requireKnown(file), [], '');
  }

  /** Ends the channel, which takes no more files: see `FileSender.end`. */
  async end(): Promise<void> {
    await this.#completion.end(this.#keepMs);
  }

  /**
   * The file sent under an id; undefined for an id that the channel doesn't know. A completely sent file has its name and
   * SHA-256, a listed file its name. Both may be missing just after the end of a file. Two round trips.
   */
  async numberOf(id: string): Promise<SentUnderId | undefined> {
    requireName('id', id);
    const { redis, channelKeys } = this.#context;
    const [number, sent] = (await Promise.all([
      callRedis(redis, 'zscore', [channelKeys.files, encodeName(id)]),
      callRedis(redis, 'hget', [channelKeys.sent, encodeName(id)]),
    ])) as [string | null, string | null];
    if (number === null) return undefined;
    const entry = (await callRedis(redis, 'hget', [channelKeys.listed, number])) as string | null;
    const found = { number: Number(number), isListed: entry !== null };
    if (sent !== null) {
      const space = sent.indexOf(' ');
      return { ...found, sha256: sent.slice(0, space), name: sent.slice(space + 1) };
    }
    return entry === null ? found : { ...found, name: entryOf(found.number, entry).name };
  }

  /**
   * Gives up a file that was not sent to its end, and frees its id. Receivers that have begun to read the file get
   * ERR_FILE_ABORTED until they are done. Without such receivers the file is deleted. The call does nothing to a completely
   * sent file, or one with a live writer. Returns whether the file was given up.
   */
  async discard(file: FileRef, reason: string): Promise<boolean> {
    return this.#discarded.discard(await this.#requireKnown(file), reason);
  }

  /**
   * Discards all files of the channel whose writers were silent for `silentMs` beyond their leases. Returns the number of these
   * files. Two round trips if there are none.
   */
  async discardAbandoned(silentMs: number, reason: string): Promise<number> {
    return this.#discarded.discardAbandoned(silentMs, reason);
  }

  #keysOf({ number, fileId }: FileId): ReturnType<FilesKeys['file']> {
    return this.#context.keys.file(this.#context.channel, number, fileId);
  }

  async #entry(file: FileRef): Promise<ListedEntry> {
    const { redis, channel, channelKeys } = this.#context;
    const { number, epoch } = refOf(file);
    const found = (await callRedis(redis, 'hget', [channelKeys.listed, number])) as string | null;
    const entry = found === null ? undefined : entryOf(number, found);
    if (entry && (epoch === undefined || epoch === entry.epoch)) return entry;
    throw new ChannelRefusedError('ERR_UNKNOWN_FILE', channel, { number });
  }

  /** The file, even if it is no longer listed. */
  async #requireKnown(file: FileRef): Promise<FileId> {
    const { redis, channel, channelKeys } = this.#context;
    const { number, epoch } = refOf(file);
    const [[last, present], entry] = (await Promise.all([
      callRedis(redis, 'hmget', [channelKeys.head, 'last', 'epoch']),
      callRedis(redis, 'hget', [channelKeys.listed, number]),
    ])) as [[string?, string?], string | null];
    const isKnown = present && number >= 1 && number <= Number(last);
    if (isKnown && (epoch === undefined || epoch === present)) {
      return { number, epoch: present, fileId: entry === null ? '' : entryOf(number, entry).fileId };
    }
    throw new ChannelRefusedError('ERR_UNKNOWN_FILE', channel, { number });
  }

  async #look(entry: ListedEntry): Promise<ListedFile> {
    const head: FileHead | undefined = await readHead(this.#context.redis, this.#keysOf(entry));
    return fileOf(entry, head);
  }

  async #lease(
    receiver: string,
  ): Promise<{ token: number; isEnded: boolean; entries: readonly ListedEntry[] }> {
    const lease = await leaseReceiver(this.#context, requireName('receiver', receiver), {
      holder: this.#holder,
      token: 0,
      leaseMs: this.#leaseMs,
      limit: MAX_LISTED,
    });
    if (lease.answer === 'ended') return { token: 0, isEnded: true, entries: [] };
    const { channel } = this.#context;
    if (lease.answer === 'busy') throw new ReceiverBusyError(channel, receiver, lease.ms);
    if (lease.answer !== 'held') {
      throw new ChannelRefusedError('ERR_UNKNOWN_RECEIVER', channel, { receiver });
    }
    const { token, isEnded, files } = lease;
    return { token, isEnded: isEnded && files.length === 0, entries: files };
  }
}

function refOf(file: FileRef): { readonly number: number; readonly epoch?: string } {
  if (typeof file === 'number') return { number: file };
  const { number, epoch } = requireObject('file', file);
  return { number: requireNumber('file.number', number), epoch: requireName('file.epoch', epoch) };
}
