/**
 * Files that travel through Redis while they are being written.
 *
 * A channel has a fixed set of receivers, and each gets every file. A file is listed in the channel's slot before its first byte is sent, and
 * is cut into chunks, which lie in a slot of the file's own. What all receivers have passed is freed at once; the sender waits while
 * its window is full, so a file may be larger than Redis' memory. The list is a small log of the channel and not a chat: a file's place,
 * its reservation in the budget, who is done with it and the end of the channel have to change together and in any order, and nothing
 * may be dropped by age; a chat has one cursor for each member, and caps.
 */
import { randomUUID } from 'node:crypto';
import { basename } from 'node:path';
import type { RedisClient } from '@mortise/redis';
import { encodeName, requireClient, requireInteger, requireName, WaiterHub } from '@mortise/redis';
import { FileAbortedError } from '../errors.js';
import { inTime } from '../in-time.js';
import { MessagingKeys } from '../keys.js';
import { Tally } from '../telemetry/tally.js';
import { ChannelList } from './channel-list.js';
import { FileSending } from './file-sending.js';
import { FileWriter } from './file-writer.js';
import type { FilesContext } from './files-context.js';
import { filesIn } from './files-in.js';
import { memberBytesFor } from './gzip-members.js';
import { entryOf } from './listed-file.js';
import type { FileSenderLimits, FileSenderOptions, SendFileOptions } from './options.js';
import { resolveFileSenderOptions } from './options.js';
import { packed, packingOf } from './packing.js';
import { PathSending, storedBytesOf } from './path-sending.js';
import type { Path } from './paths.js';
import { RunningSends } from './running-sends.js';
import type { SentFile } from './sent-file.js';
import { drawn } from './sent-file.js';
import { SentFiles } from './sent-files.js';
import { Settling } from './settling.js';
import type { StreamSource } from './stream-source.js';
import { hearFailure, piecesOf } from './stream-source.js';

/** The sender of a channel. Several processes may send to one channel; each file has one writer at a time. */
export class FileSender {
  readonly #context: FilesContext;
  readonly #limits: FileSenderLimits;
  readonly #settling: Settling;
  readonly #sent: SentFiles;
  readonly #list: ChannelList;
  readonly #sending: FileSending;
  readonly #paths: PathSending;
  readonly #running = new RunningSends();
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
    const context = this.#context;
    const limits = resolveFileSenderOptions(options);
    this.#limits = limits;
    this.#settling = new Settling(context, limits.ttlMs);
    this.#sent = new SentFiles(context, this.#settling, limits.ttlMs);
    this.#list = new ChannelList(context, limits, this.#settling, this.#sent);
    this.#sending = new FileSending(context, limits, this.#list, this.#settling, this.#sent, this.#holder);
    this.#paths = new PathSending(
      context,
      limits,
      this.#sending,
      this.#running,
      this.#sent,
      async (id, reason, signal) => this.#abort(id, reason, signal),
    );
  }

  /**
   * Sends a file; receivers see it from its first bytes on. Resolves when its end is in Redis, which is as soon as the slowest receiver is
   * a window behind. Waits while the budget of the channel is used up, and while another writer has the lease of the file. What was sent
   * of it before is read again (for the SHA-256, and to compare) but not sent. Two commands in one round trip for each chunk.
   *
   * A path without an `id` is told by what it is, whatever its name: `host`, device, inode, birth, and what stands at the beginning and at the end of what was
   * sent of it. Sent whole, and as it was, it is a duplicate, which with `follow` is waited for until it grows. What it has grown by is sent as a file of its
   * own, from the byte on at which the one before has ended; what is truncated, or written anew, is sent from its beginning. Files that a sender of the same
   * `host` has left open, and whose paths name something else now, are seen to first: sent on from where they were renamed to (the directory, or one below), or aborted. While a call lasts they are looked for again once in each lease, in the background; that aborts what it has not found twice.
   *
   * When the process dies, the file stays open, and `send` with the same source goes on. When the source fails, is
   * truncated or is not what was sent before, the file is aborted, receivers are told, and its id is free. When Redis has forgotten that the file was listed, or
   * chunks that were sent, as after a failover, a path is sent again, under the same `fileId` in the first case; of anything else `send` rejects with
   * ERR_FILE_FORGOTTEN, and goes on when it is called again. That is seen within a third of the lease; of files before, whose end is forgotten,
   * when a `send` waits for room: paths are sent again meanwhile, and for anything else it rejects with ERR_FILE_FORGOTTEN, which names
   * that file. Rejects with the error of the source, also of a stream that fails before it is read, ERR_SOURCE_CHANGED, ERR_FILE_ABORTED (by `abort`, or all
   * receivers have given it up before its end), ERR_FILE_LEASE_LOST, ERR_RECEIVER_DEAD, ERR_RECEIVERS_DIFFER, ERR_CHANNEL_ENDED.
   */
  async send(source: string | StreamSource, options: SendFileOptions = {}): Promise<SentFile> {
    if (typeof source === 'string') return this.#sendPath(source, basename(source), options);
    const failure = new AbortController();
    hearFailure(source, (error) => failure.abort(error));
    const { name, packing } = namesOf(options.name, options);
    const id = requireName('id', options.id ?? randomUUID());
    const known = source instanceof Uint8Array ? source.length : options.sizeBytes;
    const sizeBytes = known === undefined ? undefined : requireInteger('sizeBytes', known, { min: 0 });
    const { windowBytes, chunkBytes } = this.#limits;
    const isSized = sizeBytes !== undefined && packing === 'plain';
    const reserve = isSized ? Math.min(windowBytes, storedBytesOf(sizeBytes, chunkBytes)) : windowBytes;
    const pieces = (): AsyncIterable<Uint8Array | string> =>
      packed(piecesOf(source, sizeBytes, name), packing, name, memberBytesFor(this.#limits));
    this.#sent.remove(id);
    const { signal, onListed, onProgress } = options;
    const isNamed = options.id !== undefined;
    const stops = { signal, failure: failure.signal, onListed, onProgress };
    const run = async (): Promise<SentFile> => {
      for (;;) {
        const found = await this.#sending.send(
          { name, id, isNamed, fileId: drawn(), reserve },
          { pieces },
          stops,
        );
        // Undefined: an aborted file had the id.
        if (found) return found;
      }
    };
    const sent = await this.#paths.during(async () => this.#running.run({ id, name }, failure, run));
    this.#sent.add(sent, undefined);
    return sent;
  }

  /**
   * Sends the files of a directory and of those below it, one after the other, sorted by their paths; the names have `/`
   * between their parts. What is neither a file nor a directory is left out, and of several names of one file all but the first. Bytes of a name that are no
   * UTF-8 are replaced in it. When receivers give a file up, the others are sent before ERR_FILE_ABORTED is thrown. Costs and rejections as for `send`.
   */
  async sendDirectory(
    directory: string,
    options: Omit<SendFileOptions, 'name' | 'id' | 'follow' | 'sizeBytes'> = {},
  ): Promise<SentFile[]> {
    const sent: SentFile[] = [];
    let refused: FileAbortedError | undefined;
    const files = await filesIn(directory);
    const places = files.map(({ path }) => path);
    for (const { path, name } of files) {
      try {
        sent.push(await this.#sendPath(path, name, options, places));
      } catch (error) {
        if (!(error instanceof FileAbortedError)) throw error;
        refused ??= error;
      }
    }
    await this.#sent.whole(options.signal);
    if (refused) throw refused;
    return sent;
  }

  /**
   * No more files: receivers that are done with all that were sent come to an end. Files that are being sent are still
   * delivered. When all receivers are done with all files, nothing is left of the channel, but for what tells
   * latecomers, for a minute, that it has ended. What a failover has forgotten is sent again before, and what is seen to in the background is listed, for
   * which its log has to be quiet for `quietMs` at most. Repeating it is safe. Three round trips. Throws ERR_FILE_FORGOTTEN, and then the channel goes on.
   */
  async end(): Promise<void> {
    do await this.#sent.whole(undefined);
    while (await this.#paths.listed());
    await this.#settling.remove([], true);
  }

  /**
   * Resolves when all receivers are done with all files that were sent, here or elsewhere. Finishes what receivers that died have
   * left half done, and treats those who are missing as `deadReceivers` says.
   */
  async received({ signal }: { signal?: AbortSignal } = {}): Promise<void> {
    const { redis, channelKeys } = this.#context;
    const isReceived = async (): Promise<true | undefined> => {
      do {
        if ((await redis.call('exists', [channelKeys.listed])) !== 0) return undefined;
        // What is about to be listed isn't yet.
      } while (await inTime(this.#paths.listed(), Infinity, signal));
      return (await this.#sent.look(signal)) || undefined;
    };
    await this.#paths.during(async () => this.#list.whileBlocked(isReceived, signal));
  }

  /**
   * Gives up a file that was not sent to its end, by its id: frees what is stored, and the id, and tells its receivers, who get
   * ERR_FILE_ABORTED. A `send` of this sender that is at it ends at once, with ERR_FILE_ABORTED; for the lease of another writer, who
   * may still be there, it waits until the signal. Returns whether there was such a file.
   */
  async abort(
    id: string,
    reason = 'the sender gave it up',
    { signal }: { readonly signal?: AbortSignal } = {},
  ): Promise<boolean> {
    const wasRunning = await this.#running.abort(id, (name) => new FileAbortedError(name, reason));
    return (await this.#abort(id, reason, signal)) || wasRunning;
  }

  async #sendPath(
    path: Path,
    last: string,
    options: SendFileOptions,
    places?: readonly Path[],
  ): Promise<SentFile> {
    const { name, packing } = namesOf(options.name ?? last, options);
    const send = async (): Promise<SentFile> => this.#paths.send(path, name, packing, options, places);
    return this.#paths.during(send, places ?? [path]);
  }

  async #abort(id: string, reason: string, signal: AbortSignal | undefined): Promise<boolean> {
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
      const isAborted = await writer.close('aborted', reason);
      if (isAborted) await this.#list.free(file);
      return isAborted;
    } finally {
      await writer.release();
      // Those who were done before it was opened have a cursor again.
      await this.#settling.finish(file, [], '');
    }
  }
}

/** What receivers see, and how it is packed. */
function namesOf(
  given: string | undefined,
  { gzip }: SendFileOptions,
): { name: string; packing: ReturnType<typeof packingOf> } {
  const packing = packingOf(gzip, requireName('name', given));
  return { name: packing === 'gzip' ? requireName('name', `${given}.gz`) : given!, packing };
}
