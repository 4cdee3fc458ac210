/**
 * Pages and answers to `fetch` in Redis, and the tokens of their tags.
 *
 * A token counts revalidations. An entry has the token that was the latest when Next.js asked for it, before it rendered. So a
 * render that has read old data, and is stored after a revalidation, is expired when it is read. Rejected: instants by the clocks
 * of the servers, which differ. Also rejected: the tags of `Cache`, of which an entry has 16; a page of Next.js can have 128.
 */
import { callRedisBuffer } from '@mortise/redis';
import type { RedisClient } from '@mortise/redis';
import { CacheValueError } from '../errors.js';
import { nextKeys } from '../keys.js';
import type { NextKeys } from '../keys.js';
import { TimedCommands } from '../read-through/timed-commands.js';
import { nextRevalidate } from '../scripts.gen.js';
import { MAX_TTL_MS } from './options.js';
import type { ResolvedNextOptions } from './options.js';
import { decodePage, encodePage } from './page-codec.js';
import type { Page } from './page-codec.js';
import { stateOf } from './tag-record.js';
import type { TagState } from './tag-record.js';

/** The result of a read. */
export interface PageRead {
  /** The latest token; undefined if Redis is unavailable. */
  readonly seq: number | undefined;
  readonly page: Page | undefined;
  readonly state: TagState;
}

/** Longer than any entry lives. */
const KEEP_MS = MAX_TTL_MS + 86_400_000;
const NOTHING: PageRead = { seq: undefined, page: undefined, state: 'fresh' };

export class PageStore {
  readonly #redis: RedisClient;
  readonly #name: string;
  readonly #options: ResolvedNextOptions;
  readonly #keys: NextKeys;
  readonly #commands: TimedCommands;

  constructor(redis: RedisClient, name: string, options: ResolvedNextOptions) {
    this.#redis = redis;
    this.#name = name;
    this.#options = options;
    this.#keys = nextKeys(name, options.prefix);
    this.#commands = new TimedCommands(redis, name, options.commandTimeoutMs);
  }

  /**
   * Reads an entry and its tags: one command, and one more if the entry has tags that the caller doesn't name. Reports failures,
   * and finds nothing then.
   */
  async read(key: string, tags: readonly string[]): Promise<PageRead> {
    const keys = this.#keys;
    try {
      const [seqBytes, bytes, ...records] = await this.#readAll([
        keys.seq,
        keys.page(key),
        ...tags.map((tag) => keys.tag(tag)),
      ]);
      const seq = Number(seqBytes ?? 0);
      const page = bytes ? decodePage(bytes) : undefined;
      if (!page) return { seq, page, state: 'fresh' };
      const further = page.tags.filter((tag) => !tags.includes(tag)).map((tag) => keys.tag(tag));
      if (further.length > 0) records.push(...(await this.#readAll(further)));
      return { seq, page, state: stateOf(records, page.seq, Date.now()) };
    } catch (error) {
      this.#options.reporter.reportRepeated(error);
      return NOTHING;
    }
  }

  /** Stores an entry. Reports failures. One command. */
  async store(key: string, page: Omit<Page, 'seq'>, seq: number | undefined): Promise<void> {
    const { maxPayloadBytes, compressFromBytes, ttlMs, reporter } = this.#options;
    const expireMs = (page.cacheControl?.expire ?? Infinity) * 1_000;
    try {
      const known = seq ?? Number((await this.#readAll([this.#keys.seq]))[0] ?? 0);
      const bytes = this.#encode(key, { ...page, seq: known }, compressFromBytes);
      if (bytes.length > maxPayloadBytes) {
        const problem = `${bytes.length} bytes, the limit is ${maxPayloadBytes}`;
        throw new CacheValueError('ERR_CACHE_VALUE_TOO_LARGE', this.#name, key, problem);
      }
      const keepMs = Math.max(1, Math.ceil(Math.min(ttlMs, expireMs)));
      await this.#run('SET', [this.#keys.page(key), bytes, 'PX', keepMs]);
    } catch (error) {
      reporter.reportRepeated(error);
    }
  }

  /** Rejects with CacheUnavailableError, after which the tags may or may not be revalidated. Repeating it is safe. One script. */
  async revalidate(
    tags: readonly string[],
    durations: { readonly expire?: number } | undefined,
  ): Promise<void> {
    if (tags.length === 0) return;
    const { expire } = durations ?? {};
    const mode = durations === undefined ? 'now' : expire === undefined ? 'stale' : 'later';
    const keys = { seq: this.#keys.seq, tags: tags.map((tag) => this.#keys.tag(tag)) };
    const expireMs = Math.min(expire ?? 0, KEEP_MS / 1_000) * 1_000;
    await this.#commands.run(() =>
      nextRevalidate.run(this.#redis, keys, { keepMs: KEEP_MS, mode, expireMs }),
    );
  }

  #encode(key: string, page: Page, compressFromBytes: number): Buffer {
    try {
      return encodePage(page, compressFromBytes);
    } catch (error) {
      throw new CacheValueError('ERR_CACHE_VALUE', this.#name, key, error);
    }
  }

  #readAll(keys: readonly string[]): Promise<(Buffer | null)[]> {
    return this.#run('MGET', [...keys]) as Promise<(Buffer | null)[]>;
  }

  #run(command: string, args: (string | Buffer | number)[]): Promise<unknown> {
    return this.#commands.run(() => callRedisBuffer(this.#redis, command, args));
  }
}
