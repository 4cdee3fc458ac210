/**
 * Refreshes rows as soon as they change in the database, from an outbox that triggers fill.
 *
 *   outbox ──read──▶ changes ──mark in Redis──▶ removed from the outbox
 *                       └── the row is being loaded: marked again after that load, then removed
 *
 * A change is removed only after its row is marked. So a feed may die at any point: the next one marks some rows twice.
 * Rejected: the position of the reader in Redis. A transaction may become visible before that position, and a Redis that
 * lost its last writes has an older position (docs/decisions/0015).
 */
import { setTimeout as pause } from 'node:timers/promises';
import {
  encodeName,
  ErrorReporter,
  Loop,
  MAX_NAME_BYTES,
  requireClient,
  requireDuration,
  requireOptions,
  WaiterHub,
} from '@mortise/redis';
import type { OnError, RedisClient, Telemetry } from '@mortise/redis';
import type { ShardKeys, TableKeys } from '../keys.js';
import { tableOf } from '../refreshed-table.js';
import type { RowCache } from '../row-cache.js';
import { changeFeedMark } from '../../scripts.gen.js';
import { CacheTelemetry } from '../../telemetry/cache-telemetry.js';
import { Deferred } from './deferred.js';
import { FeedLease } from './feed-lease.js';
import { groupBy } from './group-by.js';
import { outboxOf } from '../../outbox.js';
import type { Change, ChangeSource, Outbox, OutboxReader } from '../../outbox.js';

export type { ChangeSource } from '../../outbox.js';

export interface ChangeFeedOptions {
  /** Another feed takes over after this time without a renewal, in ms, from 100 to 10 minutes. Default 10,000. */
  readonly leaseMs?: number | undefined;
  /**
   * The longest interval between two reads of the outbox, in ms, up to 1 minute. Default 5,000 with PostgreSQL, which sends
   * notifications, and 50 with SQLite, which cannot.
   */
  readonly recheckMs?: number | undefined;
  /** Receives counters, see docs/cache/reference/metrics.md. Default: none. */
  readonly telemetry?: Telemetry | undefined;
  /** Receives failures of the background work. Default: one line on stderr. */
  readonly onError?: OnError | undefined;
}

/** Counters of a feed. */
export interface ChangeFeedStats {
  /** Whether this feed holds the lease of the table and reads the outbox. */
  readonly isReading: boolean;
  /** Changes read. */
  readonly changes: number;
  /** Rows made due, counted each time. */
  readonly refreshed: number;
}

const OPTIONS: ReadonlySet<string> = new Set<keyof ChangeFeedOptions>([
  'leaseMs',
  'recheckMs',
  'telemetry',
  'onError',
]);
const DEFAULT_LEASE_MS = 10_000;
/** Changes in one query, and rows in one script call. */
const MAX_BATCH = 500;
/** The shortest interval between two searches for changes that the outbox misses. */
const MIN_CHECK_MS = 1_000;
/** Changes within this time of others are handled together. */
const WINDOW_MS = 20;
const LOADING = 2;

/**
 * Refreshes the rows of a table when they change. Any number of feeds may run: one of them reads, and another takes over when
 * that one dies.
 */
export class ChangeFeed {
  readonly #redis: RedisClient;
  readonly #keys: TableKeys;
  readonly #outbox: Outbox;
  readonly #lease: FeedLease;
  readonly #recheckMs: number;
  readonly #idleMs: number;
  readonly #reporter: ErrorReporter;
  readonly #telemetry: CacheTelemetry | undefined;
  readonly #loop: Loop;
  readonly #counts = { isReading: false, changes: 0, refreshed: 0 };

  /**
   * Starts nothing. Every process may have a feed for the same rows. Two caches of one table need separate outboxes: see the
   * option `outbox` of the source. Throws TypeError or RangeError for invalid options, and for a source with a `pool` of one
   * connection, because a feed keeps one.
   */
  constructor(redis: RedisClient, source: ChangeSource, rows: RowCache, options: ChangeFeedOptions = {}) {
    this.#redis = requireClient(redis);
    requireOptions('ChangeFeed', options, OPTIONS);
    const { keys, options: tableOptions } = tableOf(rows);
    this.#keys = keys;
    this.#idleMs = tableOptions.idleMs;
    this.#outbox = outboxOf(source);
    this.#outbox.requireRoom?.();
    const leaseMs = requireDuration('leaseMs', options.leaseMs ?? DEFAULT_LEASE_MS, {
      min: 100,
      max: 600_000,
    });
    this.#recheckMs = requireDuration('recheckMs', options.recheckMs ?? this.#outbox.recheckMs, {
      min: 1,
      max: 60_000,
    });
    this.#telemetry = CacheTelemetry.for(options.telemetry, 'rows', keys.table);
    this.#lease = new FeedLease(redis, this.#keys.shards[0]!.feed, Math.ceil(leaseMs));
    const name = `mortise change feed of table "${this.#keys.table}"`;
    const reporter = new ErrorReporter(name, options.onError, redis);
    this.#reporter = reporter;
    this.#loop = new Loop(name, (signal) => this.#run(signal), {
      onError: (error) => reporter.reportRepeated(error),
    });
  }

  /**
   * Starts to read, or to wait for the lease of another feed. Does nothing while the feed runs. A stopped feed may be started
   * again.
   */
  async start(): Promise<void> {
    this.#loop.start();
  }

  /** Handles the changes read so far, resolves, and lets another feed take over. Idempotent, legal before `start`. */
  async stop(): Promise<void> {
    await this.#loop.stop();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  /** Counters of this object. Sends nothing. */
  stats(): ChangeFeedStats {
    return { ...this.#counts };
  }

  async #run(signal: AbortSignal): Promise<number> {
    await this.#lease.wait(signal);
    try {
      const reader = await this.#outbox.open(signal);
      try {
        this.#counts.isReading = true;
        await this.#read(reader, signal);
      } finally {
        this.#counts.isReading = false;
        await reader.close();
      }
    } finally {
      // Also after an error, since another process may reach the database. While Redis is unavailable, the lease ends by itself.
      await this.#lease.release().catch(() => undefined);
    }
    return 0;
  }

  /** Reads until `stop` or until another feed has the lease. */
  async #read(reader: OutboxReader, signal: AbortSignal): Promise<void> {
    const deferred = new Deferred();
    let checkAt = 0;
    let reported = '';
    while (!signal.aborted && (await this.#lease.keep())) {
      if (reader.gap && performance.now() >= checkAt) {
        const gap = await reader.gap();
        checkAt = performance.now() + Math.max(this.#recheckMs, MIN_CHECK_MS);
        // Each gap is reported once.
        if (gap && gap.message !== reported) this.#reporter.report(gap);
        reported = gap?.message ?? '';
      }
      const changes = await reader.read(MAX_BATCH, deferred.changes);
      this.#counts.changes += changes.length;
      this.#telemetry?.fed(changes.length);
      await this.#apply(reader, changes, deferred);
      if (changes.length === MAX_BATCH) continue;
      if (changes.length > 0) await pause(WINDOW_MS, undefined, { signal });
      else {
        const ms = Math.min(this.#recheckMs, this.#lease.renewInMs, deferred.dueInMs);
        if (ms > 0) await reader.wait(ms, signal);
      }
    }
  }

  async #apply(reader: OutboxReader, changes: readonly Change[], deferred: Deferred): Promise<void> {
    const byId = deferred.with(changes);
    if (byId.size === 0) return;
    const done: Change[] = [];
    const loading: Change[] = [];
    for (const [id, isLoading] of await this.#mark([...byId.keys()])) {
      const own = byId.get(id)!;
      // One deferred change for each row is enough.
      if (isLoading) loading.push(own.pop()!);
      done.push(...own);
    }
    deferred.replace(byId.keys(), loading);
    if (done.length > 0) await reader.remove(done);
  }

  /** Makes rows due; returns for each whether that must wait for the load under way. One round trip for each shard and 500 rows. */
  async #mark(ids: readonly string[]): Promise<Map<string, boolean>> {
    const isLoading = new Map(ids.map((id) => [id, false]));
    const shards = groupBy(ids.filter(canBeScheduled), (id) => this.#keys.of(id));
    await Promise.all(
      Array.from(shards, async ([shard, own]) => {
        for (let index = 0; index < own.length; index += MAX_BATCH) {
          const part = own.slice(index, index + MAX_BATCH);
          const replies = await this.#send(shard, part);
          for (const [at, id] of part.entries()) isLoading.set(id, replies[at] === LOADING);
          const marked = replies.filter((reply) => reply === 1).length;
          this.#counts.refreshed += marked;
          this.#telemetry?.marked(marked);
        }
      }),
    );
    return isLoading;
  }

  async #send(shard: ShardKeys, ids: readonly string[]): Promise<number[]> {
    const publish = WaiterHub.of(this.#redis).publishCommand;
    const keys = { ...shard, values: ids.map((id) => shard.row(id)) };
    const args = { publish, idleMs: this.#idleMs, ids: ids.map(encodeName) };
    return (await changeFeedMark.run(this.#redis, keys, args)) as number[];
  }
}

function canBeScheduled(id: string): boolean {
  return id !== '' && Buffer.byteLength(id) <= MAX_NAME_BYTES;
}
