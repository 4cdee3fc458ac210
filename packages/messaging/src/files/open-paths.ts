/**
 * The files of a channel that are of paths of one host, and have not ended. Whoever lives long looks for them again and again. So it is asked of listed files only, and not of the
 * thousands of ids that the channel remembers; once of each whose it is, and no more of one that has ended a while ago.
 */
import { filesLeft } from '../scripts.gen.js';
import type { FilesContext } from './files-context.js';
import { listedEntries } from './listed-entries.js';
import type { ListedEntry } from './listed-file.js';
import type { PathRecord } from './path-records.js';
import { hostKey, keyIn, parse } from './path-records.js';

/** Files that one script asks for. */
const PAGE = 100;
/** A failover forgets some seconds at most: also that a file has ended. */
const UNSURE_MS = 30_000;

export interface OpenPathFile {
  readonly id: string;
  /** Under which its path is recorded. */
  readonly key: string;
  /** As this file, or as the one behind it. */
  readonly record: PathRecord;
  /** As it is stored. */
  readonly stored: string;
  readonly listed: ListedEntry;
}

export class OpenPaths {
  readonly #context: FilesContext;
  readonly #host: string;
  /** Since when listed files are known to have ended, on the clock of `performance`, or to be of no path of this host; by their `fileId`. */
  #ended = new Map<string, number>();

  constructor(context: FilesContext, host: string) {
    this.#context = context;
    this.#host = host;
  }

  /** In the order of their numbers. One command; and where something is listed that may be one, a script for 100 of these, and a command for each that is of such a path. */
  async list(): Promise<OpenPathFile[]> {
    const listed = await listedEntries(this.#context);
    const areListed = new Set(listed.map(({ fileId }) => fileId));
    this.#ended = new Map([...this.#ended].filter(([fileId]) => areListed.has(fileId)));
    const sureAt = performance.now() - UNSURE_MS;
    const asked = listed.filter(({ fileId }) => (this.#ended.get(fileId) ?? Infinity) > sureAt);
    const found: OpenPathFile[] = [];
    for (let from = 0; from < asked.length; from += PAGE) {
      found.push(...(await this.#page(asked.slice(from, from + PAGE))));
    }
    return found;
  }

  async #page(page: readonly ListedEntry[]): Promise<OpenPathFile[]> {
    const { redis, channel, channelKeys, keys } = this.#context;
    const records = (await filesLeft.run(redis, channelKeys, {
      host: hostKey(this.#host),
      numbers: page.map(({ number }) => number),
    })) as ([id?: string, stored?: string] | null)[];
    const files: OpenPathFile[] = [];
    for (const [index, listed] of page.entries()) {
      const found = records[index];
      if (!found) this.#ended.set(listed.fileId, -Infinity);
      const [id, stored] = found ?? [];
      if (id === undefined || stored === undefined) continue;
      files.push({ id, key: keyIn(id)!, record: parse(stored), stored, listed });
    }
    const states = await Promise.all(
      files.map(async ({ listed: { number, fileId } }) =>
        redis.call('hget', [keys.file(channel, number, fileId).file, 'state']),
      ),
    );
    return files.filter(({ listed: { fileId } }, index) => {
      // There may be nothing of it yet, or nothing any more.
      const isOpen = states[index] === null || states[index] === 'open';
      if (isOpen) this.#ended.delete(fileId);
      else if (!this.#ended.has(fileId)) this.#ended.set(fileId, performance.now());
      return isOpen;
    });
  }
}
