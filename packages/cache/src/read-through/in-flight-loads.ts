/**
 * The loads of one process, one for each key at a time. A load first requests the lease of its key. Then it runs the
 * loader, takes a value that another process has stored, or waits for the process that has the lease.
 *
 *   requested ──lease──▶ loading ──stored under the lease──▶ done
 *       ├── stored by another process ──▶ done
 *       └── leased by another process ──▶ waiting ──wake-up, or end of the lease──▶ requested
 *
 * A caller may join a load that began before its call. The value may then be older than a change that the caller knows of. So
 * a caller accepts a value only if its call came before the value was sent to Redis, and Redis has stored it. Then nothing
 * was invalidated until that moment. Otherwise the caller starts a load of its own. To avoid waiting for a load that will not
 * be stored, a caller also reads the lease. A load whose lease is gone, or is older than the version of a tag, is left to its
 * present callers.
 */
import { TIMED_OUT, waitFor } from '@mortise/redis';
import { CacheLoadError, CacheUnavailableError } from '../errors.js';
import { InFlightLoad } from './in-flight-load.js';
import type { LoadRequest, Outcome } from './in-flight-load.js';
import { loadedEntry, resolveLifetime, resolveLoaded } from './options.js';
import type { LoadedEntry, ResolvedCacheOptions } from './options.js';
import type { OnLease, Reader } from './reader.js';
import type { LeaseRenewals } from './lease-renewals.js';
import type { Values } from './values.js';
import { loadWithin } from '../load-within.js';
import { failureOf } from '../failure-of.js';
import { textOf } from '../text-of.js';

export interface LoadEvents<Value> {
  onLoad(): void;
  onLoaded(ms: number, isFailed: boolean): void;
  /** Redis could not store the value, so only this process knows it. */
  onUnstored(
    key: string,
    fallback: FallbackValue<Value>,
    of: { readonly bytes: number; readonly ttlMs: number },
  ): void;
  /** A recent value that could not be stored. */
  fallback(key: string): FallbackValue<Value> | undefined;
  onUnavailable(error: CacheUnavailableError): void;
}

/** A loaded value that Redis could not store. */
export interface FallbackValue<Value> {
  readonly value: Value | null;
  /** The token of its lease, if Redis granted one and then refused the value. */
  readonly token: string | undefined;
}

type Run<Value> = (inFlight: InFlightLoad<Value>) => Promise<Outcome<Value>>;

/** Numbers the events of this process, to tell their order. */
let moments = 0;

export class InFlightLoads<Value> {
  readonly #cache: string;
  readonly #options: ResolvedCacheOptions<Value>;
  readonly #reader: Reader<Value>;
  readonly #values: Values<Value>;
  readonly #renewals: LeaseRenewals;
  readonly #events: LoadEvents<Value>;
  readonly #loads = new Map<string, InFlightLoad<Value>>();

  constructor(
    cache: string,
    options: ResolvedCacheOptions<Value>,
    parts: {
      readonly reader: Reader<Value>;
      readonly values: Values<Value>;
      readonly renewals: LeaseRenewals;
      readonly events: LoadEvents<Value>;
    },
  ) {
    this.#cache = cache;
    this.#options = options;
    this.#reader = parts.reader;
    this.#values = parts.values;
    this.#renewals = parts.renewals;
    this.#events = parts.events;
  }

  /** The moment at which a caller arrives, for `get`. */
  static moment(): number {
    moments += 1;
    return moments;
  }

  /** Resolves to the loaded value. @param seen The stored bytes that were not usable. @param arrivedAt From `moment`. */
  get(request: LoadRequest<Value>, seen: Buffer | undefined, arrivedAt: number): Promise<Value | null> {
    return this.#join(request, arrivedAt, (inFlight) => this.#run(inFlight, seen));
  }

  /** `get` while Redis is known to be unavailable: the caller has already waited for it once. */
  getWithoutRedis(request: LoadRequest<Value>, arrivedAt: number): Promise<Value | null> {
    return this.#join(request, arrivedAt, (inFlight) => this.#loadWithoutRedis(inFlight));
  }

  /** Loads in the background unless a load is under way. Failures go to `onError`. */
  refresh(request: LoadRequest<Value>, seen: Buffer | undefined): void {
    if (!this.#loads.has(request.key)) this.#launchRefresh(request, seen, 'served');
  }

  /**
   * Waits for the load of a caller that has a stale value, until the load has taken `softTimeoutMs`. Resolves to undefined if
   * the caller is to get that value; the load continues. Failures go to `onError`. Rejects with the caller's signal's reason.
   */
  async getInTime(
    request: LoadRequest<Value>,
    seen: Buffer | undefined,
    arrivedAt: number,
  ): Promise<{ readonly value: Value | null } | undefined> {
    const { signal } = request.options;
    const inFlight = this.#loads.get(request.key) ?? this.#launchRefresh(request, seen, 'awaited');
    const waitMs = inFlight.startedAt + this.#options.softTimeoutMs - performance.now();
    if (waitMs <= 0) return undefined;
    const leaving = new AbortController();
    try {
      const outcome = await waitFor(inFlight.outcomeFor(leaving.signal), { waitMs, signal });
      const isNew = outcome !== TIMED_OUT && outcome !== 'elsewhere' && outcome.validAt > arrivedAt;
      return isNew ? outcome : undefined;
    } catch (error) {
      if (signal?.aborted && error === signal.reason) throw error;
      return undefined;
    } finally {
      leaving.abort();
    }
  }

  /**
   * Returns a callback for the lease that is read with the value. Without a load under way it is undefined, and the lease
   * need not be read.
   */
  onLease(key: string): OnLease | undefined {
    const inFlight = this.#loads.get(key);
    const holder = inFlight?.holder;
    if (holder === undefined) return undefined;
    return (lease, versions) => {
      const isHeld = lease?.toString('latin1').split(' ', 1)[0] === holder;
      const isOutdated = versions.some((version) => Number(version) > Number(holder));
      if ((isHeld && !isOutdated) || inFlight?.holder !== holder) return;
      if (inFlight.retry) inFlight.retry();
      else if (this.#loads.get(key) === inFlight) this.#loads.delete(key);
    };
  }

  /** Before a change: callers from now on must not join the load of this key. */
  detach(key: string): void {
    this.#loads.delete(key);
  }

  /** `detach` for all loads whose values may have the tag. */
  detachTag(tag: string): void {
    for (const [key, { request }] of this.#loads) {
      if (typeof request.options.tags === 'function' || request.expectedTags.includes(tag)) this.detach(key);
    }
  }

  /** Waits for the present load, or a new one that is run so, until one is recent enough for the caller. */
  async #join(request: LoadRequest<Value>, arrivedAt: number, run: Run<Value>): Promise<Value | null> {
    const { signal } = request.options;
    for (;;) {
      signal?.throwIfAborted();
      const inFlight = this.#loads.get(request.key) ?? this.#launch(request, run);
      const outcome = await inFlight.outcomeFor(signal);
      if (outcome !== 'elsewhere' && outcome.validAt > arrivedAt) return outcome.value;
    }
  }

  #launchRefresh(
    request: LoadRequest<Value>,
    seen: Buffer | undefined,
    stale: 'served' | 'awaited',
  ): InFlightLoad<Value> {
    const launched = this.#launch(request, (inFlight) => this.#run(inFlight, seen), stale);
    launched.outcome.catch((error: unknown) => {
      const { key } = request;
      const failure = new CacheLoadError('ERR_CACHE_REFRESH', this.#cache, [key], textOf(error), error);
      this.#options.reporter.reportRepeated(failure, failureOf(failure));
    });
    return launched;
  }

  #launch(
    request: LoadRequest<Value>,
    run: Run<Value>,
    stale: InFlightLoad<Value>['stale'] = 'none',
  ): InFlightLoad<Value> {
    const { key } = request;
    const inFlight = new InFlightLoad(request, stale);
    inFlight.outcome = run(inFlight).finally(() => {
      if (this.#loads.get(key) === inFlight) this.#loads.delete(key);
    });
    this.#loads.set(key, inFlight);
    return inFlight;
  }

  async #run(inFlight: InFlightLoad<Value>, seenAtFirst: Buffer | undefined): Promise<Outcome<Value>> {
    const { request, stale } = inFlight;
    const isRefresh = stale !== 'none';
    const { key, shard, wakeups, expectedTags } = request;
    const { loadTimeoutMs } = this.#options;
    const deadlineAt = performance.now() + loadTimeoutMs;
    let seen = seenAtFirst;
    try {
      for (;;) {
        const wakeUp = wakeups.expect(shard.keys.value(key));
        try {
          const validAt = InFlightLoads.moment();
          const reply = await shard.requestLease(
            key,
            { seen, isServed: isRefresh },
            expectedTags,
            wakeups.channel,
          );
          if (reply.do === 'load') {
            if (!isRefresh && inFlight.readers === 0) {
              await shard.abandon(key, reply.token, 0).catch(() => undefined);
              return 'elsewhere';
            }
            const fallback = isRefresh ? undefined : this.#events.fallback(key);
            if (fallback?.token === undefined) return await this.#loadUnderLease(inFlight, reply.token);
            // A full Redis may grant leases and refuse values: don't load for each reader.
            await shard.abandon(key, reply.token, 0).catch(() => undefined);
            return { value: fallback.value, validAt };
          }
          if (reply.do === 'take') {
            const read = await this.#reader.check(shard, key, reply.value, new Map());
            if (read.found) return { value: read.found.value, validAt };
            seen = read.seen;
            continue;
          }
          if (stale === 'served' || reply.isPaused) return 'elsewhere';
          if (!isRefresh && inFlight.readers === 0) return 'elsewhere';
          const fallback = this.#events.fallback(key);
          // The lease is this process's own, which it could not release.
          if (fallback?.token === reply.holder) return { value: fallback.value, validAt };
          const leftMs = deadlineAt - performance.now();
          if (leftMs <= 0 && isRefresh) return 'elsewhere';
          if (leftMs <= 0) throw this.#timeout(key);
          const waitMs = Math.min(reply.ms, leftMs);
          // This process was not subscribed yet: the next lease request includes its channel.
          if (wakeups.channel === '' && (await wakeups.listen(waitMs))) continue;
          inFlight.holder = reply.holder;
          inFlight.retry = () => wakeUp.wake();
          await wakeUp.wait(waitMs);
          if (!isRefresh && inFlight.readers === 0) return 'elsewhere';
        } finally {
          inFlight.holder = undefined;
          inFlight.retry = undefined;
          wakeups.forget(shard.keys.value(key), wakeUp);
        }
      }
    } catch (error) {
      if (!(error instanceof CacheUnavailableError)) throw error;
      this.#events.onUnavailable(error);
      if (isRefresh || inFlight.readers === 0) return 'elsewhere';
      // A replica or a full Redis answers reads only, so every reader gets here.
      const fallback = this.#events.fallback(key);
      if (fallback) return { value: fallback.value, validAt: InFlightLoads.moment() };
      return await this.#loadWithoutRedis(inFlight);
    }
  }

  async #loadUnderLease(inFlight: InFlightLoad<Value>, token: string): Promise<Outcome<Value>> {
    const { request } = inFlight;
    const isRefresh = inFlight.stale !== 'none';
    const { key, shard, options, ownTags } = request;
    const startedLoadAt = InFlightLoads.moment();
    const release = this.#renewals.hold(shard, key, token);
    const startedAt = performance.now();
    let pauseMs = 0;
    const entry = loadedEntry();
    inFlight.holder = token;
    try {
      let value: Value | null;
      try {
        value = await this.#load(request, entry);
      } catch (error) {
        // Another process may try at once, unless readers have a stale value.
        if (isRefresh) pauseMs = this.#options.retryMs;
        throw error;
      }
      const loadMs = performance.now() - startedAt;
      const storing = { key, token, life: resolveLifetime(options, this.#options), ownTags, loadMs };
      let storeRequest;
      try {
        storeRequest = this.#values.toRequest(value, { ...storing, tags: options.tags, entry });
      } catch (error) {
        this.#options.reporter.reportRepeated(error, failureOf(error));
        return { value, validAt: startedLoadAt };
      }
      if (storeRequest.keepMs === 0) return { value, validAt: startedLoadAt };
      token = '';
      inFlight.holder = undefined;
      try {
        const sentAt = InFlightLoads.moment();
        return { value, validAt: (await shard.store(storeRequest)) ? sentAt : startedLoadAt };
      } catch (error) {
        if (!(error instanceof CacheUnavailableError)) throw error;
        this.#events.onUnavailable(error);
        if (error.isReply) {
          // Redis refused the value: the lease is still held and must not block others.
          ({ token } = storeRequest);
          if (isRefresh) pauseMs = this.#options.retryMs;
        }
        this.#keep(inFlight, value, entry, token === '' ? undefined : token);
        return { value, validAt: startedLoadAt };
      }
    } finally {
      release();
      // Nothing was stored, so the lease is still held.
      if (token !== '') await shard.abandon(key, token, pauseMs).catch(() => undefined);
    }
  }

  async #loadWithoutRedis(inFlight: InFlightLoad<Value>): Promise<Outcome<Value>> {
    const validAt = InFlightLoads.moment();
    const entry = loadedEntry();
    const value = await this.#load(inFlight.request, entry);
    this.#keep(inFlight, value, entry, undefined);
    return { value, validAt };
  }

  /** Keeps the value unless this process has changed the entry since. */
  #keep(
    inFlight: InFlightLoad<Value>,
    value: Value | null,
    entry: LoadedEntry,
    token: string | undefined,
  ): void {
    const { key, options } = inFlight.request;
    if (this.#loads.get(key) !== inFlight) return;
    try {
      const { ttlMs } = resolveLoaded(entry, resolveLifetime(options, this.#options));
      const bytes = value === null ? 0 : this.#values.encode(key, value).length;
      this.#events.onUnstored(key, { value, token }, { bytes, ttlMs });
    } catch (error) {
      this.#options.reporter.reportRepeated(error, failureOf(error));
    }
  }

  #timeout(key: string): CacheLoadError {
    const limit = `${this.#options.loadTimeoutMs} ms`;
    return new CacheLoadError('ERR_CACHE_LOAD_TIMEOUT', this.#cache, [key], limit);
  }

  async #load({ key, load, isLimited }: LoadRequest<Value>, entry: LoadedEntry): Promise<Value | null> {
    this.#events.onLoad();
    const { loadTimeoutMs } = this.#options;
    const startedAt = performance.now();
    let isFailed = true;
    try {
      const value = isLimited
        ? await load(new AbortController().signal, entry)
        : await loadWithin(
            loadTimeoutMs,
            () => this.#timeout(key),
            async (signal) => load(signal, entry),
          );
      isFailed = false;
      return value ?? null;
    } finally {
      this.#events.onLoaded(performance.now() - startedAt, isFailed);
    }
  }
}
