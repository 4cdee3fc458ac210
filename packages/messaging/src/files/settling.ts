/**
 * A receiver is done with a file in three steps, since the list of files and each file lie in slots of their own:
 *
 *   1. the channel notes it (`files.finish`): from then on it is true;
 *   2. the file's cursor is taken out, what nobody has to read any more is freed, and with the last cursor the file (`file.settle`);
 *   3. when all are done, the file is taken off the list, and its reservation given back (`files.remove`).
 *
 * Whoever dies in between leaves a file that is listed although somebody is done with it. The reply of step 1 names all who are done, so
 * anybody who comes by (the receiver itself, another one, the sender) does steps 2 and 3 for them; each may be repeated.
 */
import { encodeName } from '@mortise/redis';
import { filesFinish, filesRemove, fileSettle } from '../scripts.gen.js';
import { chunkKeys, readHead } from './file-state.js';
import type { FileId, FilesContext } from './files-context.js';

/** How long an ended channel tells latecomers that it has ended. */
export const LINGER_MS = 60_000;

export class Settling {
  readonly #context: FilesContext;
  readonly #ttlMs: number;

  constructor(context: FilesContext, ttlMs: number) {
    this.#context = context;
    this.#ttlMs = ttlMs;
  }

  /**
   * The receivers are done with the file; with none, only settles who was done before. Returns false when the lease, of which the
   * token was given, is another's now. Three or four round trips.
   */
  async finish(file: FileId, receivers: readonly string[], token: number | ''): Promise<boolean> {
    const { redis, channelKeys } = this.#context;
    const reply = (await filesFinish.run(redis, channelKeys, {
      number: file.number,
      token,
      epoch: file.epoch,
      names: receivers.map(encodeName),
    })) as (string | number)[] | null;
    if (!reply) return false;
    const [isWhole, ...done] = reply as [number?, ...string[]];
    if (isWhole === undefined) return true;
    const isGone = done.length > 0 && (await this.#settle(file, done));
    if (isWhole === 1 && isGone) await this.remove([file.number]);
    return true;
  }

  /**
   * Whether all receivers are done with a file that was opened just now, and takes out the cursors of those who are. One round trip, when
   * nobody is.
   */
  async isOver(file: FileId, receivers: readonly string[]): Promise<boolean> {
    const { redis, channelKeys } = this.#context;
    const { number, epoch } = file;
    const reply = (await filesFinish.run(redis, channelKeys, { number, token: '', epoch, names: [] })) as (
      | string
      | number
    )[];
    const [isWhole, ...done] = reply as [number?, ...string[]];
    if (isWhole === 0) {
      if (done.length > 0) await this.#settle(file, done);
      return false;
    }
    await this.#settle(file, receivers.map(encodeName));
    if (isWhole === 1) await this.remove([number]);
    return true;
  }

  /** Takes files off the list that all are done with; with `isEnd`, ends the channel. Returns how many are left. */
  async remove(numbers: readonly number[], isEnd = false): Promise<number> {
    const { redis, channelKeys, hub } = this.#context;
    return (await filesRemove.run(redis, channelKeys, {
      publish: hub.publishCommand,
      isEnd: isEnd ? 1 : 0,
      lingerMs: LINGER_MS,
      ttlMs: this.#ttlMs,
      numbers,
    })) as number;
  }

  /** True when the file is gone, or will be by its writer, who is still there. */
  async #settle({ number, epoch }: FileId, done: readonly string[]): Promise<boolean> {
    const { redis, channel, keys, hub } = this.#context;
    const fileKeys = keys.file(channel, number, epoch);
    for (;;) {
      const head = await readHead(redis, fileKeys);
      const chunks = head ? chunkKeys(fileKeys, head.segments, head.freed, head.chunks) : [];
      const reply = (await fileSettle.run(
        redis,
        { file: fileKeys.file, cursors: fileKeys.cursors, events: fileKeys.events, chunks },
        { publish: hub.publishCommand, first: head?.freed ?? 0, receivers: done },
      )) as number;
      if (reply >= 0) return reply === 1;
    }
  }
}
