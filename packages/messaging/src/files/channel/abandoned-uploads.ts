/**
 * Files that were not sent to their end, and will not be. A receiver that has begun to read one must learn that it is
 * incomplete, even after a restart, so the file stays listed until that receiver is done. Other receivers never see it.
 */
import { callRedis, decodeName } from '@mortise/redis';
import { readHead } from '../file-head.js';
import { FileWriter } from '../send/file-writer.js';
import type { FileId, FilesContext } from '../context.js';
import { listedEntries } from '../listed-file.js';
import { resolveFileSenderOptions } from '../options.js';
import type { Completion } from '../completion.js';

/** Maximum wait for a lease; a longer lease belongs to a new writer. */
const LEASE_WAIT_MS = 500;

export class AbandonedUploads {
  readonly #context: FilesContext;
  readonly #completion: Completion;
  readonly #keepMs: number;

  constructor(context: FilesContext, completion: Completion, keepMs: number) {
    this.#context = context;
    this.#completion = completion;
    this.#keepMs = keepMs;
  }

  async discard(id: FileId, reason: string): Promise<boolean> {
    const { redis, channelKeys, keys, channel } = this.#context;
    const { number, fileId } = id;
    const fileKeys = keys.file(channel, number, fileId);
    const head = await readHead(redis, fileKeys);
    if (head?.state === 'closed') return false;
    if (head?.state !== 'aborted' && !(await this.#abort(id, reason))) return false;
    await this.#completion.freeId(number);
    const [fields, names] = (await Promise.all([
      callRedis(redis, 'hkeys', [fileKeys.file]),
      callRedis(redis, 'zrange', [channelKeys.receivers, 0, -1]),
    ])) as [string[], string[]];
    const unaware = names.filter((name) => !fields.includes(`t:${name}`)).map(decodeName);
    await this.#completion.finish(id, unaware, '');
    return true;
  }

  async discardAbandoned(silentMs: number, reason: string): Promise<number> {
    const { redis, keys, channel } = this.#context;
    const [entries, [seconds, micros]] = await Promise.all([
      listedEntries(this.#context),
      callRedis(redis, 'time', []) as Promise<[string, string]>,
    ]);
    const nowMs = Number(seconds) * 1_000 + Number(micros) / 1_000;
    let discarded = 0;
    await Promise.all(
      entries.map(async (listed) => {
        const { file } = keys.file(channel, listed.number, listed.fileId);
        const [state, lease] = (await callRedis(redis, 'hmget', [file, 'state', 'lease'])) as [
          string?,
          string?,
        ];
        // A sender that died before it opened the file has left only an entry in the list.
        const silentSince = state ? Number(lease) : listed.listedAt;
        if ((state && state !== 'open') || silentSince + silentMs > nowMs) return;
        if (await this.discard(listed, reason)) discarded += 1;
      }),
    );
    return discarded;
  }

  async #abort({ number, epoch, fileId }: FileId, reason: string): Promise<boolean> {
    const limits = resolveFileSenderOptions({ receivers: ['nobody'], keepMs: this.#keepMs });
    const file = {
      name: String(number),
      number,
      epoch,
      fileId,
      receivers: [],
      windowBytes: limits.windowBytes,
    };
    const waiting = AbortSignal.timeout(LEASE_WAIT_MS);
    try {
      return await FileWriter.abort(this.#context, limits, file, reason, waiting);
    } catch (error) {
      if (error === waiting.reason) return false;
      throw error;
    }
  }
}
