/**
 * Files that a sender of this host has begun and left open, whose paths name something else by now: a log was rotated, or removed, while nobody sent it. Nobody
 * would go on with them, and receivers would wait for their ends. So whoever sends a path looks for them first: one that has another name where rotated logs
 * are is sent to its end from there, since its lines are older than those of the path; of any other the rest is gone, and it is aborted.
 *
 * A sender that lives long looks again in the background, once in each lease, while it sends or waits: who has died meanwhile is told by the lease only.
 *
 * A file whose path names it still is left to whoever sends that, and one of another host to that host. What becomes of a left file is no failure of the path
 * that is sent.
 */
import { decodeName } from '@mortise/redis';
import { FileAbortedError, FileLeaseLostError, SourceChangedError } from '../errors.js';
import type { FilesContext } from './files-context.js';
import type { ListedEntry } from './listed-file.js';
import { entryOf } from './listed-file.js';
import type { PathRecord } from './path-records.js';
import { identityIn, keyIn, parse } from './path-records.js';
import type { Path } from './paths.js';
import { pathOf, pathText } from './paths.js';
import { findRenamed, identityAt } from './renamed-paths.js';

/** Beyond the lease of a writer: who has one still is alive. */
const SPARE_MS = 500;

export interface LeftFile {
  /** Under which it is recorded. */
  readonly key: string;
  readonly record: PathRecord;
  /** As it is stored. */
  readonly stored: string;
  readonly listed: ListedEntry;
}

/** The path that is sent; in the background none. */
export interface Sought {
  readonly path?: Path;
  readonly follow?: AbortSignal | undefined;
  /** Where a file that was left may be, besides where rotated logs are. */
  readonly places: readonly Path[];
}

export interface LeftFileSteps {
  /** This sender is at it. */
  readonly isRunning: (id: string) => boolean;
  /** Sends the rest; with `follow`, of the path that is followed. `waiting` ends who waits for the lease. */
  readonly sendOn: (
    file: LeftFile,
    path: Path,
    stops: { readonly signal?: AbortSignal; readonly follow?: AbortSignal; readonly waiting: AbortSignal },
  ) => Promise<unknown>;
  readonly abort: (id: string, reason: string, waiting: AbortSignal) => Promise<unknown>;
}

export class LeftFiles {
  readonly #context: FilesContext;
  readonly #host: string;
  readonly #everyMs: number;
  readonly #steps: LeftFileSteps;
  /** Whose leases were waited for in vain. */
  readonly #alive = new Set<string>();
  /** Ids of those that are seen to in the background. */
  readonly #ending = new Set<string>();
  #isDue = true;
  #lookedAt = performance.now();
  #isLooking = false;
  /** Calls that last, during which it looks again. */
  #calls = 0;
  #timer: NodeJS.Timeout | undefined;

  /** @param everyMs between two looks in the background */
  constructor(context: FilesContext, host: string, everyMs: number, steps: LeftFileSteps) {
    this.#context = context;
    this.#host = host;
    this.#everyMs = everyMs;
    this.#steps = steps;
  }

  /** A path was left open just now. */
  expect(): void {
    this.#isDue = true;
  }

  /**
   * Once, and again after `expect`. Waits as long as the lease of a writer that may be dead. One command when nothing is listed; for files that were left
   * two more round trips, and one for each. Throws the reason of the signal, and errors of the connection and the channel.
   */
  async look(sought: Sought, signal: AbortSignal | undefined): Promise<void> {
    if (!this.#isDue) return;
    this.#isDue = false;
    this.#lookedAt = performance.now();
    try {
      for (const file of await this.#left()) {
        const waitMs = await this.#leaseMs(file);
        if (waitMs === undefined) continue;
        if (waitMs > 0 && this.#alive.has(file.record.id)) this.#isDue = true;
        else await this.#end(file, sought, waitMs, signal);
      }
    } catch (error) {
      this.#isDue = true;
      throw error;
    }
  }

  /** What `call` resolves to; meanwhile it looks again when it is time. What that begins, it ends, also when the call is over. */
  async during<Result>(call: () => Promise<Result>): Promise<Result> {
    this.#calls += 1;
    this.#lookLater();
    try {
      return await call();
    } finally {
      this.#calls -= 1;
      if (this.#calls === 0) {
        clearTimeout(this.#timer);
        this.#timer = undefined;
      }
    }
  }

  #lookLater(): void {
    if (this.#calls === 0 || this.#timer || this.#isLooking) return;
    const waitMs = this.#lookedAt + this.#everyMs - performance.now();
    // At once, so that calls which are short don't put it off.
    if (waitMs <= 0) {
      void this.#lookAgain();
      return;
    }
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      // Unless it was looked meanwhile.
      this.#lookLater();
    }, waitMs);
    this.#timer.unref();
  }

  /** Waits for no lease: who has one is alive, as far as is known. An error is the call's as well, or another look tells. */
  async #lookAgain(): Promise<void> {
    this.#isLooking = true;
    this.#lookedAt = performance.now();
    try {
      for (const file of await this.#left()) {
        if ((await this.#leaseMs(file)) === 0) this.#endMeanwhile(file);
      }
    } catch {
      // The connection, or the channel.
    } finally {
      this.#isLooking = false;
      this.#lookLater();
    }
  }

  /** One that waits for room keeps no other from being seen to, which may be the one that has the room. */
  #endMeanwhile(file: LeftFile): void {
    const { id } = file.record;
    if (this.#ending.has(id)) return;
    this.#ending.add(id);
    this.#end(file, undefined, 0, undefined)
      // As for the look.
      .catch(() => undefined)
      .finally(() => this.#ending.delete(id));
  }

  async #end(
    file: LeftFile,
    sought: Sought | undefined,
    waitMs: number,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const { id } = file.record;
    const { path: sent, follow, places } = sought ?? { path: undefined, follow: undefined, places: [] };
    if (this.#steps.isRunning(id)) return;
    const late = AbortSignal.timeout(waitMs + SPARE_MS);
    const waiting = signal ? AbortSignal.any([signal, late]) : late;
    try {
      const path = await findRenamed(
        pathOf(file.record.path),
        identityIn(file.key),
        sent === undefined ? places : [sent, ...places],
      );
      if (path === undefined && sought === undefined) {
        // It may be where the next call looks, among the files of a directory say.
        this.#isDue = true;
      } else if (path === undefined) {
        await this.#steps.abort(id, 'its source is gone, before all of it was sent', waiting);
      } else {
        const isFollowed = follow && sent !== undefined && pathText(sent) === file.record.path;
        await this.#steps.sendOn(file, path, {
          ...(signal && { signal }),
          ...(isFollowed && { follow }),
          waiting,
        });
      }
    } catch (error) {
      const isLate = late.aborted && error === late.reason;
      if (!isLate && !isOfFile(error)) throw error;
      if (isLate) this.#alive.add(id);
      // One that is given up has come to its end.
      if (!(error instanceof FileAbortedError)) this.#isDue = true;
    }
  }

  async #left(): Promise<LeftFile[]> {
    const { redis, channelKeys } = this.#context;
    const numbers = ((await redis.call('hkeys', [channelKeys.listed])) as string[]).map(Number);
    if (numbers.length === 0) return [];
    const range = [Math.min(...numbers), Math.max(...numbers)];
    const ids = (await redis.call('zrange', [channelKeys.files, ...range, 'BYSCORE'])) as string[];
    const sentKeys = [...new Set(ids.map((id) => keyIn(decodeName(id))))].filter((key) => key !== undefined);
    if (sentKeys.length === 0) return [];
    const [records, scores, entries] = (await Promise.all([
      redis.call('hmget', [channelKeys.sent, ...sentKeys]),
      redis.call('zmscore', [channelKeys.files, ...ids]),
      redis.call('hmget', [channelKeys.listed, ...numbers]),
    ])) as [(string | null)[], (string | number | null)[], (string | null)[]];
    const numberOf = new Map(ids.map((id, index) => [id, Number(scores[index])]));
    const entryAt = new Map(numbers.map((number, index) => [number, entries[index]]));
    const found = sentKeys.map((key, index): LeftFile | undefined => {
      const stored = records[index];
      if (stored == null) return undefined;
      const record = parse(stored);
      const number = numberOf.get(record.id);
      const entry = number === undefined ? undefined : entryAt.get(number);
      if (entry == null || record.host !== this.#host) return undefined;
      return { key, record, stored, listed: entryOf(number!, entry) };
    });
    const left: LeftFile[] = [];
    for (const file of found) {
      if (!file) continue;
      const named = await identityAt(pathOf(file.record.path));
      if (named !== identityIn(file.key)) left.push(file);
    }
    return left.toSorted((a, b) => a.listed.number - b.listed.number);
  }

  /** What is left of the lease of who writes it; undefined when it is not open. */
  async #leaseMs({ listed }: LeftFile): Promise<number | undefined> {
    const { redis, channel, keys } = this.#context;
    const [[state, lease], [seconds]] = (await Promise.all([
      redis.call('hmget', [keys.file(channel, listed.number, listed.fileId).file, 'state', 'lease']),
      redis.call('time', []),
    ])) as [(string | null)[], [string]];
    if (state && state !== 'open') return undefined;
    return Math.max(0, Number(lease ?? 0) - Number(seconds) * 1_000);
  }
}

/** Of the file that was left, or of its source: who sends another path has nothing to do with it. */
function isOfFile(error: unknown): boolean {
  return (
    error instanceof FileAbortedError ||
    error instanceof FileLeaseLostError ||
    error instanceof SourceChangedError ||
    isOfFileSystem(error as NodeJS.ErrnoException)
  );
}

/** It could not be opened; errors of connections have other calls. */
function isOfFileSystem({ syscall, code }: NodeJS.ErrnoException): boolean {
  return code !== undefined && ['open', 'stat', 'lstat', 'fstat', 'scandir'].includes(syscall ?? '');
}
