/**
 * Loads of one process, one for each key at a time. A flight asks for the lease of its key, and then loads, or takes what
 * somebody has stored, or waits for the process that loads.
 *
 * A caller may share a flight that began before it came. It then gets a value that may have been loaded before something which the
 * caller has seen done, such as an invalidation; so it takes that value only if Redis has stored it, which means
 * that nothing was invalidated since, and otherwise begins a flight of its own.
 */
import { CacheLoadTimeoutError, CacheRefreshError, CacheUnavailableError } from '../errors.js';
import { resolveLife } from './options.js';
import type { LoadOptions, ResolvedCacheOptions } from './options.js';
import type { Reader } from './reader.js';
import type { Renewals } from './renewals.js';
import type { Shard } from './shard.js';
import type { Values } from './values.js';
import type { Wakeups } from './wakeups.js';
import { within } from './within.js';

/** What a reader wants to have loaded. */
export interface Wanted<Value> {
  readonly key: string;
  readonly shard: Shard;
  readonly wakeups: Wakeups;
  readonly load: (signal: AbortSignal) => Promise<Value | null | undefined> | Value | null | undefined;
  /** Whether `load` keeps to the time limit by itself. */
  readonly isLimited: boolean;
  readonly options: LoadOptions<Value>;
  /** Tags that the entry has anyway. */
  readonly ownTags: readonly string[];
}

type Outcome<Value> =
  /** `isCurrent`: Redis knows that it was not invalidated while it was loaded. `since`: when its load began. */
  | { readonly value: Value | null; readonly isCurrent: boolean; readonly since: number }
  /** Another process does it. */
  | 'elsewhere';

interface Flight<Value> {
  readonly landing: Promise<Outcome<Value>>;
  readonly tags: LoadOptions<Value>['tags'];
  readonly ownTags: readonly string[];
}

export interface FlightEvents<Value> {
  onLoad(): void;
  /** Redis was not there: the value is known to this process only. */
  onAlone(key: string, value: Value | null, ttlMs: number): void;
  onUnavailable(error: CacheUnavailableError): void;
}

/** Counts what happens in this process, to tell what came first. */
let moments = 0;

export class Flights<Value> {
  readonly #cache: string;
  readonly #options: ResolvedCacheOptions<Value>;
  readonly #reader: Reader<Value>;
  readonly #values: Values<Value>;
  readonly #renewals: Renewals;
  readonly #events: FlightEvents<Value>;
  readonly #flights = new Map<string, Flight<Value>>();

  constructor(
    cache: string,
    options: ResolvedCacheOptions<Value>,
    parts: {
      readonly reader: Reader<Value>;
      readonly values: Values<Value>;
      readonly renewals: Renewals;
      readonly events: FlightEvents<Value>;
    },
  ) {
    this.#cache = cache;
    this.#options = options;
    this.#reader = parts.reader;
    this.#values = parts.values;
    this.#renewals = parts.renewals;
    this.#events = parts.events;
  }

  /** For `get`: when a caller came. */
  static moment(): number {
    moments += 1;
    return moments;
  }

  /** The value, loaded by somebody. @param seen What was not good enough. @param cameAt From `moment`. */
  async get(wanted: Wanted<Value>, seen: Buffer | undefined, cameAt: number): Promise<Value | null> {
    for (;;) {
      const flight = this.#flights.get(wanted.key) ?? this.#start(wanted, seen, false);
      const outcome = await flight.landing;
      if (outcome === 'elsewhere') continue;
      if (outcome.isCurrent || outcome.since > cameAt) return outcome.value;
    }
  }

  /** Loads in the background, unless somebody does. What fails is reported. */
  refresh(wanted: Wanted<Value>, seen: Buffer | undefined): void {
    if (this.#flights.has(wanted.key)) return;
    this.#start(wanted, seen, true).landing.catch((error: unknown) => {
      this.#options.onError(new CacheRefreshError(this.#cache, wanted.key, error));
    });
  }

  /** What is under way for the key began before a change: who comes from now on shall not share it. */
  detach(key: string): void {
    this.#flights.delete(key);
  }

  /** As `detach` for all loads whose values may have the tag. */
  detachTag(tag: string): void {
    for (const [key, { tags, ownTags }] of this.#flights) {
      if (typeof tags === 'function' || tags?.includes(tag) || ownTags.includes(tag)) this.detach(key);
    }
  }

  #start(wanted: Wanted<Value>, seen: Buffer | undefined, isRefresh: boolean): Flight<Value> {
    const { key, ownTags } = wanted;
    const landing = this.#fly(wanted, seen, isRefresh).finally(() => {
      if (this.#flights.get(key) === flight) this.#flights.delete(key);
    });
    const flight: Flight<Value> = { landing, tags: wanted.options.tags, ownTags };
    this.#flights.set(key, flight);
    return flight;
  }

  async #fly(
    wanted: Wanted<Value>,
    seenAtFirst: Buffer | undefined,
    isRefresh: boolean,
  ): Promise<Outcome<Value>> {
    const { key, shard, wakeups } = wanted;
    const { loadTimeoutMs } = this.#options;
    const deadlineAt = performance.now() + loadTimeoutMs;
    let seen = seenAtFirst;
    try {
      for (;;) {
        const ticket = wakeups.expect(shard.keys.value(key));
        try {
          const since = Flights.moment();
          const claim = await shard.claim(key, seen, wakeups.channel);
          if (claim.do === 'load') return await this.#loadUnderLease(wanted, claim.token, isRefresh);
          if (claim.do === 'take') {
            const read = await this.#reader.check(shard, key, claim.value, new Map());
            if (read.found) return { value: read.found.value, isCurrent: true, since };
            seen = read.seen;
            continue;
          }
          if (isRefresh) return 'elsewhere';
          const leftMs = deadlineAt - performance.now();
          if (leftMs <= 0) throw new CacheLoadTimeoutError(this.#cache, [key], loadTimeoutMs);
          const waitMs = Math.min(claim.ms, leftMs);
          // The lease has no channel of ours yet: noted by the next claim.
          if (wakeups.channel === '' && (await wakeups.listen(waitMs))) continue;
          await ticket.wait(waitMs);
        } finally {
          ticket.close();
        }
      }
    } catch (error) {
      if (!(error instanceof CacheUnavailableError)) throw error;
      this.#events.onUnavailable(error);
      if (isRefresh) return 'elsewhere';
      return await this.#loadAlone(wanted);
    }
  }

  async #loadUnderLease(wanted: Wanted<Value>, token: string, isRefresh: boolean): Promise<Outcome<Value>> {
    const { key, shard, options, ownTags } = wanted;
    const since = Flights.moment();
    const release = this.#renewals.hold(shard, key, token);
    const startedAt = performance.now();
    let restMs = 0;
    try {
      let value: Value | null;
      try {
        value = await this.#load(wanted);
      } catch (error) {
        // Somebody else may have better luck, but where a stale value is served not at once.
        if (isRefresh) restMs = this.#options.retryMs;
        throw error;
      }
      const loadMs = performance.now() - startedAt;
      const life = resolveLife(options, this.#options);
      const storing = { key, token, life, tags: options.tags, ownTags, loadMs };
      let request;
      try {
        request = this.#values.toRequest(value, storing);
      } catch (error) {
        this.#options.onError(error);
        return { value, isCurrent: false, since };
      }
      if (request.keepMs === 0) return { value, isCurrent: false, since };
      token = '';
      try {
        return { value, isCurrent: await shard.store(request), since };
      } catch (error) {
        if (!(error instanceof CacheUnavailableError)) throw error;
        this.#events.onUnavailable(error);
        this.#events.onAlone(key, value, life.ttlMs);
        return { value, isCurrent: true, since };
      }
    } finally {
      release();
      // Where nothing was stored the lease is still there.
      if (token !== '') await shard.abandon(key, token, restMs).catch(() => undefined);
    }
  }

  async #loadAlone(wanted: Wanted<Value>): Promise<Outcome<Value>> {
    const since = Flights.moment();
    const value = await this.#load(wanted);
    this.#events.onAlone(wanted.key, value, resolveLife(wanted.options, this.#options).ttlMs);
    return { value, isCurrent: true, since };
  }

  async #load({ key, load, isLimited }: Wanted<Value>): Promise<Value | null> {
    this.#events.onLoad();
    const { loadTimeoutMs } = this.#options;
    const toError = (): Error => new CacheLoadTimeoutError(this.#cache, [key], loadTimeoutMs);
    const value = isLimited
      ? await load(new AbortController().signal)
      : await within(loadTimeoutMs, toError, async (signal) => load(signal));
    return value ?? null;
  }
}
