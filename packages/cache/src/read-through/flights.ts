/**
 * Loads of one process, one for each key at a time. A flight asks for the lease of its key, and then loads, or takes what
 * somebody has stored, or waits for the process that loads.
 *
 * A caller may share a flight that began before it came. It then gets a value that may have been loaded before something which the
 * caller has seen done, such as an invalidation; so it takes that value only if it came before that was sent to Redis, and
 * Redis has stored it, which means that nothing was invalidated till then; otherwise it begins a flight of its own. So that it need not wait for a load that
 * will not be stored, it reads the lease with the value: a flight whose lease is gone, or older than a tag that was
 * invalidated, is left to those who are on it.
 */
import { onAbort } from '@mortise/redis';
import { CacheLoadTimeoutError, CacheRefreshError, CacheUnavailableError } from '../errors.js';
import { resolveLife } from './options.js';
import type { LoadOptions, ResolvedCacheOptions } from './options.js';
import type { OnLease, Reader } from './reader.js';
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
  /** These, and those of the options that are known before the load. */
  readonly expectedTags: readonly string[];
}

type Outcome<Value> =
  /** `validAt`: what was changed before this moment shows in the value. When its load began, or when what Redis then stored was sent. */
  | { readonly value: Value | null; readonly validAt: number }
  /** Another process does it. */
  | 'elsewhere';

class Flight<Value> {
  landing!: Promise<Outcome<Value>>;
  /** The token of the lease that it has or waits for; undefined while it has not heard of one, or stores. */
  holder: string | undefined;
  /** While it waits: asks again. */
  askAgain: (() => void) | undefined;
  /** Callers who have not given up: where none is left, nothing is loaded, and who comes then asks anew. */
  readers = 0;

  constructor(readonly wanted: Wanted<Value>) {}

  /** What it brings to a caller, who may give up meanwhile. */
  async land(signal: AbortSignal | undefined): Promise<Outcome<Value>> {
    this.readers += 1;
    const forget = signal && onAbort(signal, () => this.#leave());
    try {
      return await this.landing;
    } finally {
      forget?.();
    }
  }

  #leave(): void {
    this.readers -= 1;
    if (this.readers === 0) this.askAgain?.();
  }
}

export interface FlightEvents<Value> {
  onLoad(): void;
  onLoaded(ms: number, isFailed: boolean): void;
  /** Redis was not there, or has refused: the value is known to this process only. */
  onAlone(key: string, kept: Kept<Value>, of: { readonly bytes: number; readonly ttlMs: number }): void;
  /** What such a load brought, for a while. */
  kept(key: string): Kept<Value> | undefined;
  onUnavailable(error: CacheUnavailableError): void;
}

/** What could not be stored. */
export interface Kept<Value> {
  readonly value: Value | null;
  /** Of its lease, where Redis has given one and then refused the value. */
  readonly token: string | undefined;
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
    const { signal } = wanted.options;
    for (;;) {
      signal?.throwIfAborted();
      const flight = this.#flights.get(wanted.key) ?? this.#start(wanted, seen, false);
      const outcome = await flight.land(signal);
      if (outcome === 'elsewhere') continue;
      if (outcome.validAt > cameAt) return outcome.value;
    }
  }

  /** As `get` while Redis is known to be away: the caller has waited for it once. */
  async getAlone(wanted: Wanted<Value>, cameAt: number): Promise<Value | null> {
    const { signal } = wanted.options;
    for (;;) {
      signal?.throwIfAborted();
      const flight = this.#flights.get(wanted.key) ?? this.#launch(wanted, (own) => this.#loadAlone(own));
      const outcome = await flight.land(signal);
      if (outcome !== 'elsewhere' && outcome.validAt > cameAt) return outcome.value;
    }
  }

  /** Loads in the background, unless somebody does. What fails is reported. */
  refresh(wanted: Wanted<Value>, seen: Buffer | undefined): void {
    if (this.#flights.has(wanted.key)) return;
    this.#start(wanted, seen, true).landing.catch((error: unknown) => {
      this.#options.onError(new CacheRefreshError(this.#cache, wanted.key, error));
    });
  }

  /**
   * What a reader has to tell of the lease that it reads with the value; undefined where nothing is under way, and the lease
   * need not be read.
   */
  onLease(key: string): OnLease | undefined {
    const flight = this.#flights.get(key);
    const holder = flight?.holder;
    if (holder === undefined) return undefined;
    return (lease, versions) => {
      const isHeld = lease?.toString('latin1').split('\n', 1)[0] === holder;
      const isOutdated = versions.some((version) => Number(version) > Number(holder));
      if ((isHeld && !isOutdated) || flight?.holder !== holder) return;
      if (flight.askAgain) flight.askAgain();
      else if (this.#flights.get(key) === flight) this.#flights.delete(key);
    };
  }

  /** What is under way for the key began before a change: who comes from now on shall not share it. */
  detach(key: string): void {
    this.#flights.delete(key);
  }

  /** As `detach` for all loads whose values may have the tag. */
  detachTag(tag: string): void {
    for (const [key, { wanted }] of this.#flights) {
      if (typeof wanted.options.tags === 'function' || wanted.expectedTags.includes(tag)) this.detach(key);
    }
  }

  #start(wanted: Wanted<Value>, seen: Buffer | undefined, isRefresh: boolean): Flight<Value> {
    return this.#launch(wanted, (flight) => this.#fly(flight, seen, isRefresh));
  }

  #launch(wanted: Wanted<Value>, fly: (flight: Flight<Value>) => Promise<Outcome<Value>>): Flight<Value> {
    const { key } = wanted;
    const flight = new Flight(wanted);
    flight.landing = fly(flight).finally(() => {
      if (this.#flights.get(key) === flight) this.#flights.delete(key);
    });
    this.#flights.set(key, flight);
    return flight;
  }

  async #fly(
    flight: Flight<Value>,
    seenAtFirst: Buffer | undefined,
    isRefresh: boolean,
  ): Promise<Outcome<Value>> {
    const { wanted } = flight;
    const { key, shard, wakeups, expectedTags } = wanted;
    const { loadTimeoutMs } = this.#options;
    const deadlineAt = performance.now() + loadTimeoutMs;
    let seen = seenAtFirst;
    try {
      for (;;) {
        const ticket = wakeups.expect(shard.keys.value(key));
        try {
          const validAt = Flights.moment();
          const claim = await shard.claim(key, { seen, isServed: isRefresh }, expectedTags, wakeups.channel);
          if (claim.do === 'load') {
            if (!isRefresh && flight.readers === 0) {
              await shard.abandon(key, claim.token, 0).catch(() => undefined);
              return 'elsewhere';
            }
            const kept = isRefresh ? undefined : this.#events.kept(key);
            if (kept?.token === undefined) return await this.#loadUnderLease(flight, claim.token, isRefresh);
            // A full Redis has room for leases still when it has none for the value: not loaded for each reader.
            await shard.abandon(key, claim.token, 0).catch(() => undefined);
            return { value: kept.value, validAt };
          }
          if (claim.do === 'take') {
            const read = await this.#reader.check(shard, key, claim.value, new Map());
            if (read.found) return { value: read.found.value, validAt };
            seen = read.seen;
            continue;
          }
          if (isRefresh || flight.readers === 0) return 'elsewhere';
          const kept = this.#events.kept(key);
          // Our own, which could not be given back either.
          if (kept?.token === claim.holder) return { value: kept.value, validAt };
          const leftMs = deadlineAt - performance.now();
          if (leftMs <= 0) throw new CacheLoadTimeoutError(this.#cache, [key], loadTimeoutMs);
          const waitMs = Math.min(claim.ms, leftMs);
          // The lease has no channel of ours yet: noted by the next claim.
          if (wakeups.channel === '' && (await wakeups.listen(waitMs))) continue;
          flight.holder = claim.holder;
          flight.askAgain = ticket.call;
          await ticket.wait(waitMs);
          if (flight.readers === 0) return 'elsewhere';
        } finally {
          flight.holder = undefined;
          flight.askAgain = undefined;
          ticket.close();
        }
      }
    } catch (error) {
      if (!(error instanceof CacheUnavailableError)) throw error;
      this.#events.onUnavailable(error);
      if (isRefresh || flight.readers === 0) return 'elsewhere';
      // One that answers reads and refuses everything else, as a replica or a full one, sends each reader here.
      const kept = this.#events.kept(key);
      if (kept) return { value: kept.value, validAt: Flights.moment() };
      return await this.#loadAlone(flight);
    }
  }

  async #loadUnderLease(flight: Flight<Value>, token: string, isRefresh: boolean): Promise<Outcome<Value>> {
    const { wanted } = flight;
    const { key, shard, options, ownTags } = wanted;
    const beganAt = Flights.moment();
    const release = this.#renewals.hold(shard, key, token);
    const startedAt = performance.now();
    let restMs = 0;
    flight.holder = token;
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
        return { value, validAt: beganAt };
      }
      if (request.keepMs === 0) return { value, validAt: beganAt };
      token = '';
      flight.holder = undefined;
      try {
        const sentAt = Flights.moment();
        return { value, validAt: (await shard.store(request)) ? sentAt : beganAt };
      } catch (error) {
        if (!(error instanceof CacheUnavailableError)) throw error;
        this.#events.onUnavailable(error);
        if (isRefusal(error)) {
          // The lease is still there; others must not wait for its end.
          ({ token } = request);
          if (isRefresh) restMs = this.#options.retryMs;
        }
        this.#keep(flight, value, token === '' ? undefined : token);
        return { value, validAt: beganAt };
      }
    } finally {
      release();
      // Where nothing was stored the lease is still there.
      if (token !== '') await shard.abandon(key, token, restMs).catch(() => undefined);
    }
  }

  async #loadAlone(flight: Flight<Value>): Promise<Outcome<Value>> {
    const validAt = Flights.moment();
    const value = await this.#load(flight.wanted);
    this.#keep(flight, value, undefined);
    return { value, validAt };
  }

  /** Unless this process has changed the entry meanwhile. */
  #keep(flight: Flight<Value>, value: Value | null, token: string | undefined): void {
    const { key, options } = flight.wanted;
    if (this.#flights.get(key) !== flight) return;
    const { ttlMs } = resolveLife(options, this.#options);
    try {
      const bytes = value === null ? 0 : this.#values.encode(key, value).length;
      this.#events.onAlone(key, { value, token }, { bytes, ttlMs });
    } catch (error) {
      this.#options.onError(error);
    }
  }

  async #load({ key, load, isLimited }: Wanted<Value>): Promise<Value | null> {
    this.#events.onLoad();
    const { loadTimeoutMs } = this.#options;
    const toError = (): Error => new CacheLoadTimeoutError(this.#cache, [key], loadTimeoutMs);
    const startedAt = performance.now();
    let isFailed = true;
    try {
      const value = isLimited
        ? await load(new AbortController().signal)
        : await within(loadTimeoutMs, toError, async (signal) => load(signal));
      isFailed = false;
      return value ?? null;
    } finally {
      this.#events.onLoaded(performance.now() - startedAt, isFailed);
    }
  }
}

/** Redis has answered that it won't, as one that is full or a replica. */
function isRefusal({ cause }: CacheUnavailableError): boolean {
  return cause instanceof Error && cause.name === 'ReplyError';
}
