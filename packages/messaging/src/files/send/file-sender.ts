/**
 * Sends files through Redis while they are being written.
 *
 * A channel has a fixed set of receivers, and each of them gets every file. A file is listed in the slot of the channel
 * before its first byte is sent. Its chunks lie in a slot of its own. A chunk is freed as soon as all receivers have passed
 * it, and the sender waits while its window is full, so a file may be larger than the memory of Redis.
 *
 * The list of files is not a chat: a file's place, its reservation in the budget, the receivers that are done with it and
 * the end of the channel change together and in any order, and nothing may be dropped by age. A chat has one cursor for
 * each member, and limits.
 */
import { randomUUID } from 'node:crypto';
import { basename } from 'node:path';
import type { RedisClient } from '@mortise/redis';
import { callRedis, encodeName, requireInteger, requireName } from '@mortise/redis';
import { FileAbortedError, FileForgottenError, SourceChangedError } from '../errors.js';
import { ChannelList } from './channel-list.js';
import { CHUNK_HEADER_BYTES } from '../chunk.js';
import { filesIn } from './directory.js';
import { Transfer } from './transfer.js';
import { FileWriter } from './file-writer.js';
import type { FilesContext } from '../context.js';
import { filesContext, randomId } from '../context.js';
import { entryOf } from '../listed-file.js';
import type { FileSenderLimits, FileSenderOptions, FilesOptions, SendFileOptions } from '../options.js';
import {
  checkDirectoryOptions,
  checkSendOptions,
  checkSignalOption,
  resolveFileSenderOptions,
} from '../options.js';
import type { Path } from './path-source.js';
import { PathSource } from './path-source.js';
import { RunningSends } from './running-sends.js';
import type { SentFile, WantedFile } from './sent-file.js';
import { SentFiles } from './sent-files.js';
import { Completion } from '../completion.js';
import type { StreamSource } from './stream-source.js';
import { onFailure, piecesOf, requireSource } from './stream-source.js';

type NamedFile = Pick<WantedFile, 'id' | 'isNamed' | 'name'>;

/** A path that was sent: the identity of the file, and how far it was sent. */
interface SentPath {
  readonly identity: string;
  readonly to: number;
}

type SendStops = Pick<SendFileOptions, 'signal' | 'onListed' | 'onProgress'>;

/** The sender of a channel. Several processes may send to one channel; each file has one writer at a time. */
export class FileSender {
  readonly #context: FilesContext;
  readonly #limits: FileSenderLimits;
  readonly #completion: Completion;
  readonly #sent: SentFiles;
  readonly #list: ChannelList;
  readonly #transfer: Transfer;
  readonly #running = new RunningSends();

  /** Sends nothing. Throws TypeError or RangeError for options out of range. */
  constructor(redis: RedisClient, channel: string, options: FileSenderOptions) {
    const limits = resolveFileSenderOptions(options);
    const context = filesContext(redis, channel, options);
    this.#context = context;
    this.#limits = limits;
    this.#completion = new Completion(context);
    this.#sent = new SentFiles(context, this.#completion, limits.keepMs);
    this.#list = new ChannelList(context, limits, this.#completion, this.#sent);
    this.#transfer = new Transfer(context, limits, this.#list, this.#completion, this.#sent);
  }

  /**
   * Sends a file; receivers see it from its first bytes on. Resolves when the end of the file is in Redis; the slowest receiver
   * is then at most a window behind. Waits while the budget of the channel is used up, and while another writer has the lease
   * of the file. Two commands in one round trip for each chunk.
   *
   * With an `id`, sending the same source again continues the file, or does nothing if it was sent completely. The bytes sent
   * before are read again, for the SHA-256 and for comparison. If the process dies or `signal` is aborted, the file stays open
   * to be continued. If the source fails, is truncated or differs from the sent bytes, the file is aborted, its receivers get
   * ERR_FILE_ABORTED, and its id is free.
   *
   * A failover may lose the file's entry or its chunks. A path is then sent again; any other source rejects with
   * ERR_FILE_FORGOTTEN, and the caller can send it again. The same holds for earlier files of this sender while it waits for
   * room. Paths among them are sent again at the same time, and ERR_FILE_FORGOTTEN names any other file.
   *
   * Rejects with the error of the source, also of a stream that fails before it is read. Rejects with ERR_FILE_ABORTED after
   * `abort`, or when all receivers gave the file up before its end. Further errors: ERR_SOURCE_CHANGED, ERR_LEASE_LOST,
   * ERR_RECEIVER_DEAD, ERR_RECEIVERS_DIFFER, ERR_CHANNEL_ENDED.
   */
  async send(source: string | StreamSource, options: SendFileOptions = {}): Promise<SentFile> {
    checkSendOptions(options);
    const file = namedFile(options, typeof source === 'string' ? basename(source) : undefined);
    if (typeof source === 'string') return this.#sendPath(source, file, options);
    requireSource(source);
    const failure = new AbortController();
    onFailure(source, (error) => failure.abort(error));
    const known = source instanceof Uint8Array ? source.length : options.sizeBytes;
    const sizeBytes = known === undefined ? undefined : requireInteger('sizeBytes', known, { min: 0 });
    const pieces = (): AsyncIterable<Uint8Array | string> => piecesOf(source, sizeBytes, file.name);
    const sent = await this.#sendPieces(
      file,
      randomId(),
      this.#reserveFor(sizeBytes),
      pieces,
      failure,
      options,
    );
    this.#sent.add(sent, undefined);
    return sent;
  }

  /**
   * Sends the files of a directory and its subdirectories one after another, sorted by path. The path below the directory, with
   * `/` between its components, is the name and the `id` of a file. So sending the directory again continues incomplete files,
   * and sends no file twice. Entries that are neither files nor directories are skipped. Bytes of a name that are not UTF-8 are
   * replaced. If receivers give a file up, the other files are sent before ERR_FILE_ABORTED is thrown. Costs and errors as for
   * `send`.
   */
  async sendDirectory(
    directory: string,
    options: Pick<SendFileOptions, 'signal' | 'onListed' | 'onProgress'> = {},
  ): Promise<SentFile[]> {
    checkDirectoryOptions(options);
    const sent: SentFile[] = [];
    let refused: FileAbortedError | undefined;
    for (const { path, name, id } of await filesIn(directory)) {
      try {
        sent.push(await this.#sendPath(path, namedFile({ name, id }), options));
      } catch (error) {
        if (!(error instanceof FileAbortedError)) throw error;
        refused ??= error;
      }
    }
    await this.#sent.complete(options.signal);
    if (refused) throw refused;
    return sent;
  }

  /**
   * Ends the channel, which takes no more files. Receivers that are done with all files finish; files in transit are still
   * delivered. When all receivers are done with all files, the channel is deleted. One key stays for a minute, and tells late
   * receivers of the end. Files that a failover has lost are sent again first. Repeating the call is safe. Three round trips.
   * If the call throws ERR_FILE_FORGOTTEN, the channel goes on.
   */
  async end(): Promise<void> {
    await this.#sent.complete(undefined);
    await this.#completion.end(this.#limits.keepMs);
  }

  /**
   * Resolves when all receivers are done with all files of the channel, of any sender. Completes the unfinished steps of
   * dead receivers, and treats missing receivers as `deadReceivers` says.
   */
  async received(options: FilesOptions = {}): Promise<void> {
    checkSignalOption('received', options);
    const { signal } = options;
    const { redis, channelKeys } = this.#context;
    const isReceived = async (): Promise<true | undefined> => {
      if ((await callRedis(redis, 'exists', [channelKeys.listed])) !== 0) return undefined;
      return (await this.#sent.check(signal)) || undefined;
    };
    await this.#list.whileBlocked(isReceived, signal);
  }

  /**
   * Gives up a file that was not sent to its end, by its id. Its bytes and its id are freed, and its receivers get
   * ERR_FILE_ABORTED. A `send` of this sender that writes the file rejects at once with ERR_FILE_ABORTED. The call waits for
   * the lease of any other writer to end, or until the signal. Returns whether there was such a file.
   */
  async abort(id: string, reason = 'the sender gave it up', options: FilesOptions = {}): Promise<boolean> {
    checkSignalOption('abort', options);
    const wasRunning = await this.#running.abort(id, (name) => new FileAbortedError(name, reason));
    return (await this.#abort(id, reason, options.signal)) || wasRunning;
  }

  async #sendPath(
    path: Path,
    file: NamedFile,
    { follow, ...stops }: SendStops & Pick<SendFileOptions, 'follow'>,
    before?: SentPath,
  ): Promise<SentFile> {
    const source = await PathSource.open(path);
    try {
      if (before && before.identity !== source.identity) {
        throw new SourceChangedError(file.name, 'its path names another file');
      }
      const reserve = this.#reserveFor(follow ? undefined : source.size);
      const pieces = (): AsyncIterable<Buffer> => source.read(file.name, { follow, to: before?.to });
      // A file that is sent again because it was forgotten keeps its id.
      const fileId = randomId();
      for (;;) {
        try {
          const failure = new AbortController();
          const sent = await this.#sendPieces(file, fileId, reserve, pieces, failure, stops);
          const whole = {
            identity: source.identity,
            to: sent.isDuplicate ? (before?.to ?? Infinity) : source.position,
          };
          this.#sent.add(sent, async (again) => this.#sendPath(path, file, again, whole));
          return sent;
        } catch (error) {
          if (!(error instanceof FileForgottenError) || this.#sent.hasThrown(error)) throw error;
        }
      }
    } finally {
      await source.close();
    }
  }

  async #sendPieces(
    { id, isNamed, name }: NamedFile,
    firstId: string,
    reserve: number,
    pieces: () => AsyncIterable<Uint8Array | string>,
    failure: AbortController,
    { signal, onListed, onProgress }: SendStops,
  ): Promise<SentFile> {
    this.#sent.remove(id);
    const stops = { signal, failure: failure.signal, onListed, onProgress };
    return this.#running.run({ id, name }, failure, async () => {
      for (let fileId = firstId; ; fileId = randomId()) {
        const wanted = { name, id, isNamed, fileId, reserve };
        const sent = await this.#transfer.send(wanted, pieces, stops);
        // Undefined: an aborted file had the id.
        if (sent) return sent;
      }
    });
  }

  /** The bytes of the budget that a file needs, headers of chunks included; a window if its size is unknown. */
  #reserveFor(sizeBytes: number | undefined): number {
    const { windowBytes, chunkBytes } = this.#limits;
    if (sizeBytes === undefined) return windowBytes;
    const chunks = Math.ceil(sizeBytes / (chunkBytes - CHUNK_HEADER_BYTES));
    return Math.min(windowBytes, sizeBytes + CHUNK_HEADER_BYTES * chunks);
  }

  async #abort(id: string, reason: string, signal: AbortSignal | undefined): Promise<boolean> {
    const { redis, channelKeys } = this.#context;
    this.#sent.remove(id);
    const [number, epoch] = (await Promise.all([
      callRedis(redis, 'zscore', [channelKeys.files, encodeName(requireName('id', id))]),
      callRedis(redis, 'hget', [channelKeys.head, 'epoch']),
    ])) as [string | null, string | null];
    const entry =
      number === null
        ? null
        : ((await callRedis(redis, 'hget', [channelKeys.listed, number])) as string | null);
    if (number === null || entry === null || epoch === null) return false;
    const file = {
      name: id,
      number: Number(number),
      epoch,
      fileId: entryOf(Number(number), entry).fileId,
      receivers: this.#limits.receivers,
      windowBytes: this.#limits.windowBytes,
    };
    try {
      const isAborted = await FileWriter.abort(this.#context, this.#limits, file, reason, signal);
      if (isAborted) await this.#completion.freeId(file.number);
      return isAborted;
    } finally {
      // Receivers that were done before it was opened have a cursor again.
      await this.#completion.finish(file, [], '');
    }
  }
}

function namedFile({ id, name }: Pick<SendFileOptions, 'id' | 'name'>, last?: string): NamedFile {
  return {
    id: requireName('id', id ?? randomUUID()),
    isNamed: id !== undefined,
    name: requireName('name', name ?? last),
  };
}
