/**
 * A receiver is done with a file in three steps, since the list of files and each file lie in slots of their own:
 *
 *   1. the channel notes it (`files.finish`): from then on it is true;
 *   2. the file's cursor is taken out, what nobody has to read any more is freed, and with the last cursor the file (`file.settle`);
 *   3. when all are done, the file is taken off the list, and its reservation given back (`files.remove`).
 *
 * The id of one that was aborted is freed before its head goes away, since nothing else tells that it was.
 *
 * Whoever dies in between leaves a file that is listed although somebody is done with it. The reply of step 1 names all who are done, so
 * anybody who comes by (the receiver itself, another one, the sender) does steps 2 and 3 for them; each may be repeated.
 */
import { encodeName } from '@mortise/redis';
import { channelFinish, channelRemove, fileComplete } from '../scripts.gen.js';
import { chunkKeys, readHead } from './file-head.js';
import type { FilesContext } from './context.js';

/** A file; without `fileId`, whichever has the number. */
export interface CompletedFile {
  readonly number: number;
  readonly epoch: string;
  readonly fileId?: string;
}

/** The lease, of which the token was given, is another's now; Redis has forgotten that the file was listed; or what there was to do is done. */
export type Completed = 'lost' | 'forgotten' | 'settled';

/** How long an ended channel tells latecomers that it has ended. */
export const LINGER_MS = 60_000;

export class Completion {
  readonly #context: FilesContext;
  readonly #keepMs: number;

  constructor(context: FilesContext, keepMs: number) {
    this.#context = context;
    this.#keepMs = keepMs;
  }

  /** The receivers are done with the file; with none, only settles who was done before. Three or four round trips. */
  async finish(file: CompletedFile, receivers: readonly string[], token: number | ''): Promise<Completed> {
    const reply = await this.#note(file, receivers, token);
    if (!reply) return 'lost';
    const { isWhole, fileId, done } = reply;
    if (isWhole === -1) return 'forgotten';
    if (isWhole === undefined) return 'settled';
    const isGone = done.length > 0 && (await this.#settle(file.number, fileId, done, true));
    if (isWhole === 1 && isGone) await this.remove([file.number]);
    return 'settled';
  }

  /**
   * Whether all receivers are done with a file that was opened just now, and takes out the cursors of those who are; who opened it ends it. Undefined when Redis has forgotten that
   * it was listed. One round trip, when nobody is.
   */
  async isOver(
    file: CompletedFile & { readonly fileId: string },
    receivers: readonly string[],
  ): Promise<boolean | undefined> {
    const { isWhole, done } = (await this.#note(file, [], ''))!;
    if (isWhole === -1) return undefined;
    if (isWhole === 0) {
      if (done.length > 0) await this.#settle(file.number, file.fileId, done);
      return false;
    }
    await this.clear(file, receivers);
    return true;
  }

  /** Takes out the cursors of receivers of a file, listed or not, and all that is stored of one that has ended, when nobody is left. */
  async clear(file: { number: number; fileId: string }, receivers: readonly string[]): Promise<void> {
    await this.#settle(file.number, file.fileId, receivers.map(encodeName));
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

  /** Takes files off the list that all are done with; with `isEnd`, ends the channel. Returns how many are left. */
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

  /** True when the file is gone, or will be by its writer, who is still there. */
  async #settle(number: number, fileId: string, done: readonly string[], isListed = false): Promise<boolean> {
    const { redis, channel, channelKeys, keys, hub } = this.#context;
    const fileKeys = keys.file(channel, number, fileId);
    for (;;) {
      const head = await readHead(redis, fileKeys);
      const isAborted = head?.state === 'aborted';
      if (isAborted && isListed) await redis.call('zremrangebyscore', [channelKeys.files, number, number]);
      const chunks = head ? chunkKeys(fileKeys, head.segments, head.freed, head.chunks) : [];
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
