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
import { onAbort } from '@mortise/redis';
import { CacheLoadError, CacheUnavailableError } from '../errors.js';
import { loadedEntry, resolveLifetime, resolveLoaded } from './options.js';
import type { LoadedEntry, LoadOptions, ResolvedCacheOptions } from './options.js';
import type { OnLease, Reader } from './reader.js';
import type { LeaseRenewals } from './lease-renewals.js';
import type { Shard } from './shard.js';
import type { Values } from './values.js';
import type { Wakeups } from './wakeups.js';
import { loadWithin } from '../load-within.js';
import { textOf } from '../text-of.js';

/** A request to load a value. */
export interface LoadRequest<Value> {
  readonly key: string;
  readonly shard: Shard;
  readonly wakeups: Wakeups;
  readonly load: (
    signal: AbortSignal,
    entry: LoadedEntry,
  ) => Promise<Value | null | undefined> | Value | null | undefined;
  /** Whether `load` has a time limit of its own. */
  readonly isLimited: boolean;
  readonly options: LoadOptions<Value>;
  /** The tags of the namespace. */
  readonly ownTags: readonly string[];
  /** The tags known before the load: those of the namespace and of the options. */
  readonly expectedTags: readonly string[];
}

type Outcome<Value> =
  /** `validAt`: the value includes every change before this moment: the start of its load, or when it was sent to Redis. */
  | { readonly value: Value | null; readonly validAt: number }
  /** Another process loads the value. */
  | 'elsewhere';

class InFlightLoad<Value> {
  outcome!: Promise<Outcome<Value>>;
  /** The token of the lease that it has or waits for; undefined before the reply to its lease request, and while it stores. */
  holder: string | undefined;
  /** While it waits: requests the lease again. */
  retry: (() => void) | undefined;
  /** Number of callers that still wait. Without any, no loader is started, and the next caller requests a new load. */
  readers = 0;

  constructor(readonly request: LoadRequest<Value>) {}

  /** Resolves to the outcome for one caller, whose signal only ends its own interest. */
  async outcomeFor(signal: AbortSignal | undefined): Promise<Outcome<Value>> {
    this.readers += 1;
    const forget = signal && onAbort(signal, () => this.#leave());
    try {
      return await this.outcome;
    } finally {
      forget?.();
    }
  }

  #leave(): void {
    this.readers -= 1;
    if (this.readers === 0) this.retry?.();
  }
}

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
    return this.#join(request, arrivedAt, (inFlight) => this.#run(inFlight, seen, false));
  }

  /** `get` while Redis is known to be unavailable: the caller has already waited for it once. */
  getWithoutRedis(request: LoadRequest<Value>, arrivedAt: number): Promise<Value | null> {
    return this.#join(request, arrivedAt, (inFlight) => this.#loadWithoutRedis(inFlight));
  }

  /** Loads in the background unless a load is under way. Failures go to `onError`. */
  refresh(request: LoadRequest<Value>, seen: Buffer | undefined): void {
    if (this.#loads.has(request.key)) return;
    const { outcome } = this.#launch(request, (inFlight) => this.#run(inFlight, seen, true));
    outcome.catch((error: unknown) => {
      const { key } = request;
      this.#options.reporter.report(
        new CacheLoadError('ERR_CACHE_REFRESH', this.#cache, [key], textOf(error), error),
      );
    });
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

  #launch(request: LoadRequest<Value>, run: Run<Value>): InFlightLoad<Value> {
    const { key } = request;
    const inFlight = new InFlightLoad(request);
    inFlight.outcome = run(inFlight).finally(() => {
      if (this.#loads.get(key) === inFlight) this.#loads.delete(key);
    });
    this.#loads.set(key, inFlight);
    return inFlight;
  }

  async #run(
    inFlight: InFlightLoad<Value>,
    seenAtFirst: Buffer | undefined,
    isRefresh: boolean,
  ): Promise<Outcome<Value>> {
    const { request } = inFlight;
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
            if (fallback?.token === undefined)
              return await this.#loadUnderLease(inFlight, reply.token, isRefresh);
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
          if (isRefresh || inFlight.readers === 0) return 'elsewhere';
          const fallback = this.#events.fallback(key);
          // The lease is this process's own, which it could not release.
          if (fallback?.token === reply.holder) return { value: fallback.value, validAt };
          const leftMs = deadlineAt - performance.now();
          if (leftMs <= 0) throw this.#timeout(key);
          const waitMs = Math.min(reply.ms, leftMs);
          // This process was not subscribed yet: the next lease request includes its channel.
          if (wakeups.channel === '' && (await wakeups.listen(waitMs))) continue;
          inFlight.holder = reply.holder;
          inFlight.retry = () => wakeUp.wake();
          await wakeUp.wait(waitMs);
          if (inFlight.readers === 0) return 'elsewhere';
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

  async #loadUnderLease(
    inFlight: InFlightLoad<Value>,
    token: string,
    isRefresh: boolean,
  ): Promise<Outcome<Value>> {
    const { request } = inFlight;
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
        this.#options.reporter.report(error);
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
        if (isRefusal(error)) {
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
      this.#options.reporter.report(error);
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

/** Whether Redis answered with an error, as a full server or a replica does. */
function isRefusal({ cause }: CacheUnavailableError): boolean {
  return cause instanceof Error && cause.name === 'ReplyError';
}
