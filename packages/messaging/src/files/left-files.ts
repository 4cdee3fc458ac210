/**
 * Files that a sender of this host has begun and left open, whose paths name something else by now: a log was rotated, or removed, while nobody sent it. Nobody
 * would go on with them, and receivers would wait for their ends. So whoever sends a path looks for them first: one that has another name where rotated logs
 * are is sent to its end from there, since its lines are older than those of the path; of any other the rest is gone, and it is aborted.
 *
 * A sender that lives long looks again in the background, once in each lease, while it sends or waits: who has died meanwhile is told by the lease only. What it does not find
 * the next call may, which looks elsewhere; when there is none before the next look, it is aborted as well.
 *
 * A file whose path names it still is left to whoever sends that, and one of another host to that host. What becomes of a left file is no failure of the path
 * that is sent.
 */
import { FileAbortedError, FileLeaseLostError, SourceChangedError } from '../errors.js';
import type { FilesContext } from './files-context.js';
import type { OpenPathFile } from './open-paths.js';
import { OpenPaths } from './open-paths.js';
import { identityIn } from './path-records.js';
import type { Path } from './paths.js';
import { pathOf, pathText } from './paths.js';
import { findRenamed, identityAt } from './renamed-paths.js';

/** Beyond the lease of a writer: who has one still is alive. */
const SPARE_MS = 500;

/** The path that is sent; in the background none. */
export interface Sought {
  readonly path?: Path;
  readonly follow?: AbortSignal | undefined;
  /** Where a file that was left may be, besides where rotated logs are. */
  readonly places: readonly Path[];
}

export interface SendOnStops {
  readonly signal?: AbortSignal;
  /** Of the path, when that is followed. */
  readonly follow?: AbortSignal;
  /** Ends who waits for the lease. */
  readonly waiting: AbortSignal;
  /** Called when nothing more of it will be listed. */
  readonly onLast?: (() => void) | undefined;
}

export interface LeftFileSteps {
  /** This sender is at it. */
  readonly isRunning: (id: string) => boolean;
  /** Sends the rest, from where the file is. */
  readonly sendOn: (file: OpenPathFile, at: Path, stops: SendOnStops) => Promise<unknown>;
  readonly abort: (id: string, reason: string, waiting: AbortSignal) => Promise<unknown>;
}

export class LeftFiles {
  readonly #context: FilesContext;
  readonly #open: OpenPaths;
  readonly #everyMs: number;
  readonly #steps: LeftFileSteps;
  /** Whose leases were waited for in vain. */
  readonly #alive = new Set<string>();
  /** Ids of those that are seen to in the background. */
  readonly #ending = new Set<string>();
  /** Of these, what may still be listed. */
  readonly #unlisted = new Set<Promise<void>>();
  #isDue = true;
  #lookedAt = performance.now();
  #looking: Promise<void> | undefined;
  /** Ids of those whose sources the look in the background before did not find. */
  #missing = new Set<string>();
  /** Calls that last, during which it looks again, also there. */
  readonly #calls = new Set<{ readonly places: readonly Path[] }>();
  #timer: NodeJS.Timeout | undefined;

  /** @param everyMs between two looks in the background */
  constructor(context: FilesContext, host: string, everyMs: number, steps: LeftFileSteps) {
    this.#context = context;
    this.#open = new OpenPaths(context, host);
    this.#everyMs = everyMs;
    this.#steps = steps;
  }

  /** A path was left open just now. */
  expect(): void {
    this.#isDue = true;
  }

  /**
   * Once, and again after `expect`. Waits as long as the lease of a writer that may be dead. As many commands as `OpenPaths.list`, and a round trip
   * for each that was left. Throws the reason of the signal, and errors of the connection and the channel.
   */
  async look(sought: Sought, signal: AbortSignal | undefined): Promise<void> {
    if (!this.#isDue) return;
    this.#isDue = false;
    this.#lookedAt = performance.now();
    try {
      for (const file of await this.#left()) {
        const waitMs = await this.#leaseMs(file);
        if (waitMs === undefined) continue;
        if (waitMs > 0 && this.#alive.has(file.id)) this.#isDue = true;
        else await this.#end(file, sought, waitMs, signal);
      }
    } catch (error) {
      this.#isDue = true;
      throw error;
    }
  }

  /**
   * What `call` resolves to; meanwhile it looks again when it is time, also in `places`. What that begins, it ends, also when the call is over.
   */
  async during<Result>(call: () => Promise<Result>, places: readonly Path[] = []): Promise<Result> {
    const lasting = { places };
    this.#calls.add(lasting);
    this.#lookLater();
    try {
      return await call();
    } finally {
      this.#calls.delete(lasting);
      if (this.#calls.size === 0) {
        clearTimeout(this.#timer);
        this.#timer = undefined;
      }
    }
  }

  /** Resolves when all is listed that was begun in the background; false when there was nothing. */
  async listed(): Promise<boolean> {
    if (!this.#looking && this.#unlisted.size === 0) return false;
    await this.#looking;
    await Promise.all(this.#unlisted);
    return true;
  }

  #lookLater(): void {
    if (this.#calls.size === 0 || this.#timer || this.#looking) return;
    const waitMs = this.#lookedAt + this.#everyMs - performance.now();
    // At once, so that calls which are short don't put it off.
    if (waitMs <= 0) {
      this.#looking = this.#lookAgain();
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
    this.#lookedAt = performance.now();
    try {
      const left = await this.#left();
      const ids = new Set(left.map(({ id }) => id));
      this.#missing = new Set([...this.#missing].filter((id) => ids.has(id)));
      for (const file of left) {
        if ((await this.#leaseMs(file)) === 0) this.#endMeanwhile(file);
      }
    } catch {
      // The connection, or the channel.
    } finally {
      this.#looking = undefined;
      this.#lookLater();
    }
  }

  /** One that waits for room keeps no other from being seen to, which may be the one that has the room. */
  #endMeanwhile(file: OpenPathFile): void {
    const { id } = file;
    if (this.#ending.has(id)) return;
    this.#ending.add(id);
    let onLast!: () => void;
    const listed = new Promise<void>((resolve) => (onLast = resolve));
    this.#unlisted.add(listed);
    void listed.then(() => this.#unlisted.delete(listed));
    this.#end(file, undefined, 0, undefined, onLast)
      // As for the look.
      .catch(() => undefined)
      .finally(() => {
        this.#ending.delete(id);
        onLast();
      });
  }

  async #end(
    file: OpenPathFile,
    sought: Sought | undefined,
    waitMs: number,
    signal: AbortSignal | undefined,
    onLast?: () => void,
  ): Promise<void> {
    const { id } = file;
    const {
      path: sent,
      follow,
      places,
    } = sought ?? {
      path: undefined,
      follow: undefined,
      places: [...this.#calls].flatMap((lasting) => lasting.places),
    };
    if (this.#steps.isRunning(id)) return;
    const late = AbortSignal.timeout(waitMs + SPARE_MS);
    const waiting = signal ? AbortSignal.any([signal, late]) : late;
    try {
      const path = await findRenamed(
        pathOf(file.record.path),
        identityIn(file.key),
        sent === undefined ? places : [sent, ...places],
      );
      const wasMissing = this.#missing.delete(id);
      if (path === undefined && sought === undefined && !wasMissing) {
        // It may be where the next call looks, among the files of a directory say.
        this.#isDue = true;
        this.#missing.add(id);
      } else if (path === undefined) {
        await this.#steps.abort(id, 'its source is gone, before all of it was sent', waiting);
      } else {
        const isFollowed = follow && sent !== undefined && pathText(sent) === file.record.path;
        await this.#steps.sendOn(file, path, {
          ...(signal && { signal }),
          ...(isFollowed && { follow }),
          waiting,
          onLast,
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

  async #left(): Promise<OpenPathFile[]> {
    const left: OpenPathFile[] = [];
    for (const file of await this.#open.list()) {
      try {
        const named = await identityAt(pathOf(file.record.path));
        if (named !== identityIn(file.key)) left.push(file);
      } catch {
        // Who may look at it, or can later, will.
        this.#isDue = true;
      }
    }
    return left;
  }

  /** What is left of the lease of who writes it; undefined when it is not open. */
  async #leaseMs({ listed }: OpenPathFile): Promise<number | undefined> {
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

/** Of connections, too, some errors are of `read`; the codes of these are others. */
function isOfFileSystem({ syscall = '', code = '' }: NodeJS.ErrnoException): boolean {
  if (syscall === 'read')
    return ['EIO', 'ESTALE', 'EISDIR', 'EACCES', 'ENOMEM', 'EAGAIN', 'EINTR'].includes(code);
  return code !== '' && ['open', 'stat', 'lstat', 'fstat', 'scandir'].includes(syscall);
}
