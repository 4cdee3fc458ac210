/**
 * The files that a sender has sent to their end. A failover may lose that end, with everything that was not replicated:
 * then no process writes the remainder, receivers wait for it, and senders wait for the receivers. So a waiting sender
 * checks that Redis still has its files. A path is sent again, in parallel to the present file, since receivers may want
 * either first. For any other source the caller gets ERR_FILE_FORGOTTEN.
 *
 * Not checked: files of processes that have ended, and files that all receivers were done with for `KEPT_MS`.
 */
import { callRedis, encodeName } from '@mortise/redis';
import { FileForgottenError } from '../errors.js';
import type { FileId, FilesContext } from '../context.js';
import { entryOf } from '../listed-file.js';
import type { SentFile } from './sent-file.js';
import type { Completion } from '../completion.js';
import { LINGER_MS } from '../completion.js';

/** Maximum of ids of finished files that a channel keeps, so that a restarted sender doesn't send these again. */
export const REMEMBERED = 10_000;
/** A failover loses a few seconds at most. */
const KEPT_MS = 30_000;
/** More than a channel can list. */
const MAX_KEPT = 2_000;

/** Sends the missing bytes of a file. */
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
  readonly #thrown = new WeakSet<object>();
  #resending: Promise<void> | undefined;
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

  /** Forgets a file that is being sent or was aborted. */
  remove(id: string): void {
    this.#kept.delete(id);
  }

  /** Whether `check` has thrown this error, which is about another file than the caller's. */
  hasThrown(error: unknown): boolean {
    return typeof error === 'object' && error !== null && this.#thrown.has(error);
  }

  /**
   * Whether Redis has all sent files; otherwise starts to send some again. Two round trips, and two more if a file seems to
   * be missing. Throws ERR_FILE_FORGOTTEN for a file that can't be sent again, each time.
   */
  async check(signal: AbortSignal | undefined): Promise<boolean> {
    if (this.#resending) return false;
    const failure = this.#failure;
    this.#failure = undefined;
    if (failure) throw this.#throwable(failure);
    const forgotten = await this.#forgotten();
    const lost = forgotten.find(({ sendAgain }) => !sendAgain);
    if (lost) throw this.#throwable(new FileForgottenError(lost.name));
    if (forgotten.length === 0) return true;
    this.#resending ??= this.#sendAgain(forgotten, signal);
    return false;
  }

  /** Resolves when Redis has all sent files. Throws as `check`. */
  async complete(signal: AbortSignal | undefined): Promise<void> {
    while (!(await this.check(signal))) await this.#resending;
  }

  async #sendAgain(files: readonly KeptFile[], signal: AbortSignal | undefined): Promise<void> {
    for (const file of files) {
      try {
        await file.sendAgain!(signal ? { signal } : {});
      } catch (cause) {
        this.#kept.set(file.id, file);
        // A later check sends it again.
        if (signal?.aborted) break;
        this.#failure ??= new FileForgottenError(file.name, { cause });
      }
    }
    this.#resending = undefined;
  }

  #throwable(error: FileForgottenError): FileForgottenError {
    this.#thrown.add(error);
    return error;
  }

  async #forgotten(): Promise<KeptFile[]> {
    const kept = [...this.#kept.values()];
    if (kept.length === 0) return [];
    const { redis, channelKeys } = this.#context;
    const { head, files, listed } = channelKeys;
    // The head is read last, since all of these keys expire together.
    const [entries, numbers, [epoch, last]] = (await Promise.all([
      callRedis(redis, 'hmget', [listed, ...kept.map(({ number }) => number)]),
      callRedis(redis, 'zmscore', [files, ...kept.map(({ id }) => encodeName(id))]),
      callRedis(redis, 'hmget', [head, 'epoch', 'last']),
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

  /** Whether a failover has lost a file with an unknown id. Otherwise its channel has ended, or it is one of the oldest. */
  #isForgotten(file: KeptFile, epoch: string | null, last: number, now: number): boolean {
    if (epoch !== file.epoch) return now < file.sentAt + Math.min(LINGER_MS, this.#keepMs);
    return last - file.number < REMEMBERED;
  }

  /** Whether a listed file is open or missing, and no process writes it. */
  async #lacksEnd(file: FileId): Promise<boolean> {
    if (!(await this.#isOpen(file))) return false;
    // A receiver that is done may have died before it removed the file from the list.
    await this.#completion.finish(file, [], '');
    return this.#isOpen(file);
  }

  async #isOpen({ number, epoch, fileId }: FileId): Promise<boolean> {
    const { redis, channel, channelKeys, keys } = this.#context;
    const [[state, lease], entry, [seconds]] = (await Promise.all([
      callRedis(redis, 'hmget', [keys.file(channel, number, fileId).file, 'state', 'lease']),
      callRedis(redis, 'hget', [channelKeys.listed, number]),
      callRedis(redis, 'time', []),
    ])) as [(string | null)[], string | null, [string]];
    if (entry === null) return false;
    const listed = entryOf(number, entry);
    const nowMs = Number(seconds) * 1_000;
    if (listed.fileId !== fileId || listed.epoch !== epoch) return false;
    return state ? state === 'open' && Number(lease) <= nowMs : nowMs < listed.listedAt + listed.keepMs;
  }
}
