/**
 * The option `cacheHandler` of Next.js. Next.js creates an object of the class for each request, so the client and the store are
 * those of the class, made at the first call.
 *
 * `next build` needs no Redis: its pages are files, which Next.js writes itself, and an answer to `fetch` is kept in the memory of
 * a worker of the build. A running server renders a page of the build at its first request. HTML names the scripts of its build,
 * so each build has pages of its own; answers to `fetch` are common to all.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { requireFunction, requireName } from '@mortise/redis';
import type { RedisClient } from '@mortise/redis';
import { resolveNextOptions } from './options.js';
import type {
  NextCacheContext,
  NextCacheHandler,
  NextCacheHandlerClass,
  NextCacheOptions,
  NextCacheValue,
} from './options.js';
import { PageStore } from './page-store.js';

/** The clock of an answer that is stale for Next.js, however long it was to be fresh. */
const LONG_AGO = -5e12;
/** Keys of a request whose tokens are remembered, and answers of a build. */
const MAX_KEPT = 1_000;

/**
 * Makes the class that the module named by `cacheHandler` exports as its default. Sends nothing. Throws TypeError or RangeError.
 *
 * @param connect Returns the client, at the first call that needs Redis; the process keeps it.
 * @param name Names the entries in Redis. 1 to 1,024 bytes.
 */
export function nextCacheHandler(
  connect: () => RedisClient,
  name: string,
  options: NextCacheOptions = {},
): NextCacheHandlerClass {
  requireFunction('connect', connect);
  requireName('name', name);
  const resolved = resolveNextOptions(options);
  let store: PageStore | undefined;
  const storeOf = (): PageStore => (store ??= new PageStore(connect(), name, resolved));
  const built = new Map<string, NextCacheValue>();
  return class extends Handler {
    constructor(context: { readonly serverDistDir?: string | undefined } = {}) {
      super(process.env['NEXT_PHASE'] === 'phase-production-build' ? built : storeOf, context.serverDistDir);
    }
  };
}

class Handler implements NextCacheHandler {
  readonly #source: (() => PageStore) | Map<string, NextCacheValue>;
  readonly #serverFolder: string | undefined;
  /** The latest token when a key was asked for; of several times the first, since the value may have been rendered since then. */
  readonly #seen = new Map<string, number>();

  constructor(source: (() => PageStore) | Map<string, NextCacheValue>, serverFolder: string | undefined) {
    this.#source = source;
    this.#serverFolder = serverFolder;
  }

  /** Null if nothing usable is stored, or Redis is unavailable. One round trip, two for a page. */
  async get(key: string, context: NextCacheContext): Promise<NextCacheValue | null> {
    const source = this.#source;
    const isFetch = context.kind === 'FETCH';
    const stored = this.#keyOf(key, isFetch);
    if (source instanceof Map) return source.get(stored) ?? null;
    const tags = [...(context.tags ?? []), ...(context.softTags ?? [])];
    const { seq, page, state } = await source().read(stored, tags);
    if (seq !== undefined) this.#remember(stored, seq);
    if (!page || state === 'expired') return null;
    const { value, cacheControl, lastModified } = page;
    if (state === 'fresh') return { value, cacheControl, lastModified };
    // Next.js has no word for a stale page, and may keep a page for ever by its time: it is rendered before the answer.
    return isFetch ? { value, cacheControl, lastModified: LONG_AGO } : null;
  }

  /** Resolves also if the entry is not stored, which is reported. One round trip. */
  async set(key: string, value: unknown, context: NextCacheContext): Promise<void> {
    const source = this.#source;
    const isFetch = context.fetchCache === true;
    const stored = this.#keyOf(key, isFetch);
    const { cacheControl } = context;
    const entry = { value, cacheControl, lastModified: Date.now() };
    if (source instanceof Map) {
      if (isFetch && source.size < MAX_KEPT) source.set(stored, entry);
      return;
    }
    const seq = this.#seen.get(stored);
    this.#seen.delete(stored);
    await source().store(stored, { ...entry, tags: tagsOf(value, context) }, seq);
  }

  /**
   * Without durations entries with a tag are expired at once, with them they are stale. Rejects with CacheUnavailableError, after
   * which the tags may or may not be revalidated. Repeating it is safe. One round trip.
   */
  async revalidateTag(
    tags: string | readonly string[],
    durations?: { readonly expire?: number },
  ): Promise<void> {
    const source = this.#source;
    if (source instanceof Map) source.clear();
    else await source().revalidate(typeof tags === 'string' ? [tags] : [...new Set(tags)], durations);
  }

  /** Nothing is kept for a request but tokens. */
  resetRequestCache(): void {
    this.#seen.clear();
  }

  #remember(key: string, seq: number): void {
    if (this.#seen.has(key)) return;
    if (this.#seen.size >= MAX_KEPT) this.#seen.clear();
    this.#seen.set(key, seq);
  }

  #keyOf(key: string, isFetch: boolean): string {
    return isFetch ? `fetch ${key}` : `${buildOf(this.#serverFolder)} ${key}`;
  }
}

const builds = new Map<string, string>();

/** The id of the build whose server runs. */
function buildOf(serverFolder: string | undefined): string {
  if (serverFolder === undefined) return 'page';
  let build = builds.get(serverFolder);
  if (build === undefined) {
    build = readBuild(serverFolder);
    builds.set(serverFolder, build);
  }
  return build;
}

function readBuild(serverFolder: string): string {
  try {
    return readFileSync(join(serverFolder, '../BUILD_ID'), 'utf8').trim();
  } catch {
    // `next dev` has none, and asks for no pages.
    return 'page';
  }
}

/** The tags of `fetch` are in the context or the value, those of a page in a header of its answer. */
function tagsOf(value: unknown, { tags }: NextCacheContext): readonly string[] {
  const { tags: own, headers } = (value ?? {}) as {
    readonly tags?: readonly string[];
    readonly headers?: Readonly<Record<string, unknown>>;
  };
  const ofPage = headers?.['x-next-cache-tags'];
  const names = [...(tags ?? []), ...(own ?? []), ...(typeof ofPage === 'string' ? ofPage.split(',') : [])];
  return [...new Set(names)];
}
