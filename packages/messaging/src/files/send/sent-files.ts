/**
 * The files of which a sender has heard the end. A failover may forget it, with what was not replicated: then nobody writes the rest, receivers wait
 * for it, and everybody behind them for room. So whoever waits looks whether Redis knows them still. What is missing of a path is sent again, beside
 * what is being sent, which receivers may want first; of anything else the caller is told.
 *
 * Not looked after: what is forgotten when the process has ended, or later than `KEPT_MS` after all were seen to be done with it.
 */
import { encodeName } from '@mortise/redis';
import { FileForgottenError } from '../errors.js';
import type { FileId, FilesContext } from '../context.js';
import { entryOf } from '../listed-file.js';
import type { SentFile } from './sent-file.js';
import type { Completion } from '../completion.js';
import { LINGER_MS } from '../completion.js';

/** Ids of files that all receivers are done with, so that a restarted sender doesn't send them again. */
export const REMEMBERED = 10_000;
/** A failover forgets some seconds at most. */
const KEPT_MS = 30_000;
/** More than can be listed. */
const MAX_KEPT = 2_000;

/** Sends what is missing of it. */
export type SendAgain = (stop: { signal?: AbortSignal }) => Promise<unknown>;

interface KeptFile extends SentFile {
  readonly sentAt: number;
  readonly sendAgain: SendAgain | undefined;
  finishedAt?: number;
}

export class SentFiles {
  readonly #context: FilesContext;
  readonly #completion: Completion;
  readonly #keepMs: number;
  readonly #kept = new Map<string, KeptFile>();
  readonly #told = new WeakSet<object>();
  #sending: Promise<void> | undefined;
  #failure: FileForgottenError | undefined;

  constructor(context: FilesContext, completion: Completion, keepMs: number) {
    this.#context = context;
    this.#completion = completion;
    this.#keepMs = keepMs;
  }

  add(file: SentFile, sendAgain: SendAgain | undefined): void {
    this.#kept.set(file.id, { ...file, sentAt: performance.now(), sendAgain });
    if (this.#kept.size <= MAX_KEPT) return;
    const [oldest] = this.#kept.keys();
    this.#kept.delete(oldest!);
  }

  /** It is being sent, or given up. */
  remove(id: string): void {
    this.#kept.delete(id);
  }

  /** Whether `look` has thrown it: it is of another file than the caller sends. */
  hasTold(error: unknown): boolean {
    return typeof error === 'object' && error !== null && this.#told.has(error);
  }

  /**
   * Whether all is known that was sent; otherwise something is being sent again from now on. Two round trips, and two more when a file
   * seems to be missing. Throws ERR_FILE_FORGOTTEN for one that can't be sent again, each time.
   */
  async look(signal: AbortSignal | undefined): Promise<boolean> {
    if (this.#sending) return false;
    const failure = this.#failure;
    this.#failure = undefined;
    if (failure) throw this.#tell(failure);
    const forgotten = await this.#forgotten();
    const lost = forgotten.find(({ sendAgain }) => !sendAgain);
    if (lost) throw this.#tell(new FileForgottenError(lost.name));
    if (forgotten.length === 0) return true;
    this.#sending ??= this.#sendAgain(forgotten, signal);
    return false;
  }

  /** Resolves when all is known that was sent. Throws as `look`. */
  async whole(signal: AbortSignal | undefined): Promise<void> {
    while (!(await this.look(signal))) await this.#sending;
  }

  async #sendAgain(files: readonly KeptFile[], signal: AbortSignal | undefined): Promise<void> {
    for (const file of files) {
      try {
        await file.sendAgain!(signal ? { signal } : {});
      } catch (cause) {
        this.#kept.set(file.id, file);
        // Who wants it still begins again.
        if (signal?.aborted) break;
        this.#failure ??= new FileForgottenError(file.name, { cause });
      }
    }
    this.#sending = undefined;
  }

  #tell(error: FileForgottenError): FileForgottenError {
    this.#told.add(error);
    return error;
  }

  async #forgotten(): Promise<KeptFile[]> {
    const kept = [...this.#kept.values()];
    if (kept.length === 0) return [];
    const { redis, channelKeys } = this.#context;
    const { head, files, listed } = channelKeys;
    // The head last: it expires with the others.
    const [entries, numbers, [epoch, last]] = (await Promise.all([
      redis.call('hmget', [listed, ...kept.map(({ number }) => number)]),
      redis.call('zmscore', [files, ...kept.map(({ id }) => encodeName(id))]),
      redis.call('hmget', [head, 'epoch', 'last']),
    ])) as [(string | null)[], (string | number | null)[], (string | null)[]];
    const now = performance.now();
    const isForgotten = await Promise.all(
      kept.map(async (file, index) => {
        const number = numbers[index] ?? null;
        const entry = entries[index] ?? null;
        const isKnown = epoch === file.epoch && number !== null && Number(number) === file.number;
        const { fileId } = entry === null ? { fileId: undefined } : entryOf(file.number, entry);
        if (isKnown && fileId !== undefined && (file.fileId === '' || file.fileId === fileId)) {
          return this.#lacksEnd({ number: file.number, epoch: file.epoch, fileId });
        }
        if (isKnown) file.finishedAt ??= now;
        else if (this.#isForgotten(file, epoch ?? null, Number(last), now)) return true;
        if (!isKnown || now > file.finishedAt! + KEPT_MS) this.#kept.delete(file.id);
        return false;
      }),
    );
    return kept.filter((file, index) => isForgotten[index] && this.#kept.get(file.id) === file);
  }

  /** Whether a file whose id the channel doesn't know was forgotten, and isn't of a channel that came to its end, or one of the oldest. */
  #isForgotten(file: KeptFile, epoch: string | null, last: number, now: number): boolean {
    if (epoch !== file.epoch) return now < file.sentAt + Math.min(LINGER_MS, this.#keepMs);
    return last - file.number < REMEMBERED;
  }

  /** Whether a file that is listed is open, or not there at all, and nobody goes on with it. */
  async #lacksEnd(file: FileId): Promise<boolean> {
    if (!(await this.#isOpen(file))) return false;
    // Somebody may be between being done with it and taking it off the list.
    await this.#completion.finish(file, [], '');
    return this.#isOpen(file);
  }

  async #isOpen({ number, epoch, fileId }: FileId): Promise<boolean> {
    const { redis, channel, channelKeys, keys } = this.#context;
    const [[state, lease], entry, [seconds]] = (await Promise.all([
      redis.call('hmget', [keys.file(channel, number, fileId).file, 'state', 'lease']),
      redis.call('hget', [channelKeys.listed, number]),
      redis.call('time', []),
    ])) as [(string | null)[], string | null, [string]];
    if (entry === null) return false;
    const listed = entryOf(number, entry);
    const nowMs = Number(seconds) * 1_000;
    if (listed.fileId !== fileId || listed.epoch !== epoch) return false;
    return state ? state === 'open' && Number(lease) <= nowMs : nowMs < listed.listedAt + listed.keepMs;
  }
}
