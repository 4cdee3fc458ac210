/**
 * Files that a sender of this host has begun and left open, whose paths name something else by now: a log was rotated, or removed, while nobody sent it. Nobody
 * would go on with them, and receivers would wait for their ends. So whoever sends a path looks for them first: one that has another name in its directory is
 * sent to its end from there, since its lines are older than those of the path; of any other the rest is gone, and it is aborted.
 *
 * A file whose path names it still is left to whoever sends that, and one of another host to that host.
 */
import { readdir } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { decodeName } from '@mortise/redis';
import type { FilesContext } from './files-context.js';
import type { ListedEntry } from './listed-file.js';
import { entryOf } from './listed-file.js';
import type { Path } from './opened-path.js';
import { identityOf } from './opened-path.js';
import { pathOf, pathText } from './path-parts.js';
import type { PathRecord } from './path-records.js';
import { identityIn, parse } from './path-records.js';

/** Beyond the lease of a writer: who has one still is alive. */
const SPARE_MS = 500;

export interface LeftFile {
  readonly identity: string;
  readonly record: PathRecord;
  /** As it is stored. */
  readonly stored: string;
  readonly listed: ListedEntry;
}

export interface LeftFileSteps {
  /** This sender is at it. */
  readonly isRunning: (id: string) => boolean;
  /** Sends the rest. `waiting` ends who waits for the lease. */
  readonly sendOn: (
    file: LeftFile,
    path: Path,
    stops: { readonly signal?: AbortSignal; readonly waiting: AbortSignal },
  ) => Promise<unknown>;
  readonly abort: (id: string, reason: string, waiting: AbortSignal) => Promise<unknown>;
}

export class LeftFiles {
  readonly #context: FilesContext;
  readonly #host: string;
  readonly #steps: LeftFileSteps;
  /** Whose leases were waited for in vain. */
  readonly #alive = new Set<string>();
  #isDue = true;

  constructor(context: FilesContext, host: string, steps: LeftFileSteps) {
    this.#context = context;
    this.#host = host;
    this.#steps = steps;
  }

  /** A path was left open just now. */
  expect(): void {
    this.#isDue = true;
  }

  /**
   * Once, and again after `expect`. Waits as long as the lease of a writer that may be dead. One command when nothing is listed; for files that were left
   * two more round trips, and one for each.
   */
  async look(signal: AbortSignal | undefined): Promise<void> {
    if (!this.#isDue) return;
    this.#isDue = false;
    try {
      for (const file of await this.#left()) await this.#end(file, signal);
    } catch (error) {
      this.#isDue = true;
      throw error;
    }
  }

  async #end(file: LeftFile, signal: AbortSignal | undefined): Promise<void> {
    const { id } = file.record;
    const waitMs = await this.#leaseMs(file);
    if (waitMs === undefined || this.#steps.isRunning(id)) return;
    if (waitMs > 0 && this.#alive.has(id)) {
      this.#isDue = true;
      return;
    }
    const late = AbortSignal.timeout(waitMs + SPARE_MS);
    const waiting = signal ? AbortSignal.any([signal, late]) : late;
    try {
      const path = await findRenamed(pathOf(file.record.path), file.identity);
      if (path === undefined) {
        await this.#steps.abort(id, 'its source is gone, before all of it was sent', waiting);
      } else await this.#steps.sendOn(file, path, { ...(signal && { signal }), waiting });
    } catch (error) {
      if (!late.aborted || error !== late.reason) throw error;
      this.#alive.add(id);
      this.#isDue = true;
    }
  }

  async #left(): Promise<LeftFile[]> {
    const { redis, channelKeys } = this.#context;
    const numbers = ((await redis.call('hkeys', [channelKeys.listed])) as string[]).map(Number);
    if (numbers.length === 0) return [];
    const range = [Math.min(...numbers), Math.max(...numbers)];
    const ids = (await redis.call('zrange', [channelKeys.files, ...range, 'BYSCORE'])) as string[];
    const identities = [...new Set(ids.map((id) => identityIn(decodeName(id))))].filter(
      (identity) => identity !== undefined,
    );
    if (identities.length === 0) return [];
    const [records, scores, entries] = (await Promise.all([
      redis.call('hmget', [channelKeys.sent, ...identities]),
      redis.call('zmscore', [channelKeys.files, ...ids]),
      redis.call('hmget', [channelKeys.listed, ...numbers]),
    ])) as [(string | null)[], (string | number | null)[], (string | null)[]];
    const numberOf = new Map(ids.map((id, index) => [id, Number(scores[index])]));
    const entryAt = new Map(numbers.map((number, index) => [number, entries[index]]));
    const found = identities.map((identity, index): LeftFile | undefined => {
      const stored = records[index];
      if (stored == null) return undefined;
      const record = parse(stored);
      const number = numberOf.get(record.id);
      const entry = number === undefined ? undefined : entryAt.get(number);
      if (entry == null || record.host !== this.#host) return undefined;
      return { identity, record, stored, listed: entryOf(number!, entry) };
    });
    const left: LeftFile[] = [];
    for (const file of found) {
      if (file && (await identityAt(pathOf(file.record.path))) !== file.identity) left.push(file);
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

/** The path that a file has now: the one that it had, or another one in the same directory. */
export async function findRenamed(path: Path, identity: string): Promise<Path | undefined> {
  if ((await identityAt(path)) === identity) return path;
  const before = pathText(path);
  const directory = dirname(before);
  const names = await readdir(Buffer.from(directory, 'latin1'), 'latin1').catch((): string[] => []);
  // A rotated log has the name of the log at its beginning.
  const isLike = (name: string): number => (name.startsWith(basename(before)) ? 0 : 1);
  for (const name of names.toSorted((a, b) => isLike(a) - isLike(b))) {
    const at = pathOf(`${directory}/${name}`);
    if ((await identityAt(at)) === identity) return at;
  }
  return undefined;
}

async function identityAt(path: Path): Promise<string | undefined> {
  return identityOf(path).catch(() => undefined);
}
