/**
 * A receiver is done with a file in three steps, since the list of files and each file lie in slots of their own:
 *
 *   1. The channel notes it (`channel.finish`). From then on it is true.
 *   2. The file loses the cursor of the receiver, and frees the chunks that no receiver needs any more; with the last cursor the whole file
 *      goes (`file.complete`).
 *   3. When all receivers are done, the channel takes the file off its list and gives its reservation back (`channel.remove`).
 *
 * The id of an aborted file is freed before its head goes away, since nothing else says that it was aborted.
 *
 * A process that dies in between leaves a listed file although a receiver is done with it. The reply of step 1 names all receivers that are
 * done, so any process (the receiver itself, another one, the sender) can do steps 2 and 3 for them. Each step may be repeated.
 */
import { encodeName } from '@mortise/redis';
import { channelFinish, channelRemove, fileComplete } from '../scripts.gen.js';
import { chunkKeys, readHead } from './file-head.js';
import type { FilesContext } from './context.js';

/** A file; without `fileId`, the one that has the number. */
export interface CompletedFile {
  readonly number: number;
  readonly epoch: string;
  readonly fileId?: string;
}

/** `lost`: another process has the lease of the token. `forgotten`: a failover has lost that the file was listed. `completed`: nothing is left to do. */
export type Completed = 'lost' | 'forgotten' | 'completed';

/** How long latecomers can learn that a channel has ended. */
export const LINGER_MS = 60_000;

export class Completion {
  readonly #context: FilesContext;
  readonly #keepMs: number;

  constructor(context: FilesContext, keepMs: number) {
    this.#context = context;
    this.#keepMs = keepMs;
  }

  /** The receivers are done with the file. Without any, completes the steps of those that were done before. Three or four round trips. */
  async finish(file: CompletedFile, receivers: readonly string[], token: number | ''): Promise<Completed> {
    const reply = await this.#note(file, receivers, token);
    if (!reply) return 'lost';
    const { isWhole, fileId, done } = reply;
    if (isWhole === -1) return 'forgotten';
    if (isWhole === undefined) return 'completed';
    const isGone = done.length > 0 && (await this.#complete(file.number, fileId, done, true));
    if (isWhole === 1 && isGone) await this.remove([file.number]);
    return 'completed';
  }

  /**
   * Whether all receivers are done with a file that was opened just now; the caller then ends the file. Takes out the cursors of receivers
   * that are done. Undefined when a failover has lost that the file was listed. One round trip when no receiver is done.
   */
  async isOver(
    file: CompletedFile & { readonly fileId: string },
    receivers: readonly string[],
  ): Promise<boolean | undefined> {
    const { isWhole, done } = (await this.#note(file, [], ''))!;
    if (isWhole === -1) return undefined;
    if (isWhole === 0) {
      if (done.length > 0) await this.#complete(file.number, file.fileId, done);
      return false;
    }
    await this.clear(file, receivers);
    return true;
  }

  /** Takes out the cursors of receivers of a file, listed or not. Without any cursor left, a file that has ended goes away. */
  async clear(file: { number: number; fileId: string }, receivers: readonly string[]): Promise<void> {
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

  /** Takes files off the list that all receivers are done with; with `isEnd`, ends the channel. Returns how many files are left. */
  async remove(numbers: readonly number[], isEnd = false): Promise<number> {
    const { redis, channelKeys, hub } = this.#context;
    return (await channelRemove.run(redis, channelKeys, {
      publish: hub.publishCommand,
      isEnd: isEnd ? 1 : 0,
      lingerMs: LINGER_MS,
      keepMs: this.#keepMs,
      numbers,
    })) as number;
  }

  /** True when the file is gone. */
  async #complete(
    number: number,
    fileId: string,
    done: readonly string[],
    isListed = false,
  ): Promise<boolean> {
    const { redis, channel, channelKeys, keys, hub } = this.#context;
    const fileKeys = keys.file(channel, number, fileId);
    for (;;) {
      const head = await readHead(redis, fileKeys);
      const isAborted = head?.state === 'aborted';
      if (isAborted && isListed) await redis.call('zremrangebyscore', [channelKeys.files, number, number]);
      const chunks = head ? chunkKeys(fileKeys, head.writers, head.freed, head.chunks) : [];
      const reply = (await fileComplete.run(
        redis,
        { file: fileKeys.file, cursors: fileKeys.cursors, events: fileKeys.events, chunks },
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
