/**
 * A receiver is done with a file in three steps, since the list of files and each file lie in different slots:
 *
 *   1. The channel records it (`channel.finish`). From then on it holds.
 *   2. The file loses the receiver's cursor, and frees the chunks that no receiver needs; with the last cursor it is deleted
 *      (`file.complete`).
 *   3. When all receivers are done, the channel removes the file from its list and returns its reservation (`channel.remove`).
 *
 * The id of an aborted file is freed before its head is deleted, since only the head tells that it was aborted.
 *
 * A process that dies between the steps leaves a listed file although a receiver is done with it. The reply of step 1 names
 * all receivers that are done, so any process (the receiver itself, another one, the sender) can do steps 2 and 3 for them.
 * Each step may be repeated.
 */
import { callRedis, encodeName } from '@mortise/redis';
import { channelFinish, channelRemove, fileComplete } from '../scripts.gen.js';
import { chunkKeys, readHead } from './file-head.js';
import type { FileId, FilesContext } from './context.js';

/** A file; without `fileId`, any file with the number. */
type CompletedFile = Omit<FileId, 'fileId'> & Partial<FileId>;

/**
 * `lost`: another process has the lease. `forgotten`: a failover has lost the file's entry. `completed`: all steps are
 * done.
 */
export type Completed = 'lost' | 'forgotten' | 'completed';

/** How long late receivers can learn that a channel has ended. */
export const LINGER_MS = 60_000;

export class Completion {
  readonly #context: FilesContext;

  constructor(context: FilesContext) {
    this.#context = context;
  }

  /**
   * Records the receivers as done with the file. Without receivers, completes the steps of those that were done before.
   * Three or four round trips.
   */
  async finish(file: CompletedFile, receivers: readonly string[], token: number | ''): Promise<Completed> {
    const reply = await this.#note(file, receivers, token);
    if (!reply) return 'lost';
    const { isWhole, fileId, done } = reply;
    if (isWhole === -1) return 'forgotten';
    if (isWhole === undefined) return 'completed';
    const isGone = done.length > 0 && (await this.#complete(file.number, fileId, done, true));
    if (isWhole === 1 && isGone) await this.#remove([file.number]);
    return 'completed';
  }

  /**
   * Whether all receivers are done with a file that was just opened; the caller then ends the file. Removes the cursors of
   * receivers that are done. Undefined if a failover has lost the file's entry. One round trip if no receiver is done.
   */
  async isOver(file: FileId, receivers: readonly string[]): Promise<boolean | undefined> {
    const { isWhole, done } = (await this.#note(file, [], ''))!;
    if (isWhole === -1) return undefined;
    if (isWhole === 0) {
      if (done.length > 0) await this.#complete(file.number, file.fileId, done);
      return false;
    }
    await this.clear(file, receivers);
    return true;
  }

  /** Removes cursors of receivers from a file, listed or not. An ended file without cursors is deleted. */
  async clear(file: Pick<FileId, 'number' | 'fileId'>, receivers: readonly string[]): Promise<void> {
    await this.#complete(file.number, file.fileId, receivers.map(encodeName));
  }

  async #note(
    { number, epoch, fileId = '' }: CompletedFile,
    receivers: readonly string[],
    token: number | '',
  ): Promise<{ isWhole: number | undefined; fileId: string; done: string[] } | undefined> {
    const { redis, channelKeys } = this.#context;
    const names = receivers.map(encodeName);
    const reply = (await channelFinish.run(redis, channelKeys, { number, token, epoch, fileId, names })) as
      | (string | number)[]
      | null;
    if (!reply) return undefined;
    const [isWhole, listedId = '', ...done] = reply as [number?, string?, ...string[]];
    return { isWhole, fileId: listedId, done };
  }

  /** Frees the id of an aborted file. One command. */
  async freeId(number: number): Promise<void> {
    const { redis, channelKeys } = this.#context;
    await callRedis(redis, 'zremrangebyscore', [channelKeys.files, number, number]);
  }

  /** Ends the channel, which then stays for `keepMs` at most. One script. */
  async end(keepMs: number): Promise<void> {
    await this.#remove([], keepMs);
  }

  /** Removes files from the list if all receivers are done with them; with `keepMs`, ends the channel. */
  async #remove(numbers: readonly number[], keepMs = 0): Promise<void> {
    const { redis, channelKeys, hub } = this.#context;
    await channelRemove.run(redis, channelKeys, {
      publish: hub.publishCommand,
      lingerMs: LINGER_MS,
      keepMs,
      numbers,
    });
  }

  /** True if the file is deleted. */
  async #complete(
    number: number,
    fileId: string,
    done: readonly string[],
    isListed = false,
  ): Promise<boolean> {
    const { redis, channel, keys, hub } = this.#context;
    const fileKeys = keys.file(channel, number, fileId);
    for (;;) {
      const head = await readHead(redis, fileKeys);
      const isAborted = head?.state === 'aborted';
      if (isAborted && isListed) await this.freeId(number);
      const chunks = head ? chunkKeys(fileKeys, head.writers, head.freed, head.chunks) : [];
      const reply = (await fileComplete.run(
        redis,
        { ...fileKeys, chunks },
        {
          publish: hub.publishCommand,
          first: head?.freed ?? 0,
          isAborted: isAborted ? 1 : 0,
          receivers: done,
        },
      )) as number;
      if (reply >= 0) return reply === 1;
    }
  }
}
