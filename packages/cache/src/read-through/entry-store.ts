/** The place of the entries of a cache: a slot of Redis, or the memory of the process. */
import type { ServerClock, WakeUp } from '@mortise/redis';
import type { CacheKeys } from '../keys.js';

/** The answer to a reader without a usable value. */
export type LeaseReply =
  | { readonly do: 'take'; readonly value: Buffer }
  | { readonly do: 'load'; readonly token: string }
  /** `holder`: the token of the lease of another process. */
  | {
      readonly do: 'wait';
      readonly ms: number;
      readonly holder: string;
      /** Nobody loads: a load has failed, and readers have a stale value. */
      readonly isPaused: boolean;
    };

export interface LeaseOptions {
  /** The value that was not usable, or its first bytes. */
  readonly seen: Buffer | undefined;
  /** Whether readers have a stale value, so that a failed load need not be repeated at once. */
  readonly isServed: boolean;
  /** Default: that of the cache. */
  readonly leaseMs?: number | undefined;
}

/** An entry to store, or the end of a lease without a value. */
export interface StoreRequest {
  readonly key: string;
  /** The token of the lease; '' stores without a lease. */
  readonly token: string;
  /** 0: store nothing. */
  readonly keepMs: number;
  /** After a lease without a value: how long readers with a stale value get no lease. */
  readonly pauseMs: number;
  readonly body: Buffer;
  readonly tags: readonly string[];
}

/** A new time to live of an entry that was read. */
export interface ExpireRequest {
  readonly key: string;
  /** The value that was read, or its first bytes. */
  readonly seen: Buffer;
  /** From now on. */
  readonly ttlMs: number;
  readonly staleMs: number;
  readonly tags: readonly string[];
}

/** Entries, leases and versions of tags. */
export interface EntryStore {
  readonly keys: CacheKeys;
  readonly clock: ServerClock;
  /** Whether the clock should be read again. */
  readonly isClockDue: boolean;
  /** Reads the clock. */
  sync(): Promise<void>;
  /** Reads entries, leases and versions of tags by their keys of Redis. */
  read(redisKeys: readonly string[]): Promise<(Buffer | null)[]>;
  /** @param tags The tags known before the load. @param channel The wake-up channel, or ''. */
  requestLease(
    key: string,
    options: LeaseOptions,
    tags: readonly string[],
    channel: string,
  ): Promise<LeaseReply>;
  /** Returns whether the entry was stored. */
  store(request: StoreRequest): Promise<boolean>;
  /** Ends a lease without a value. */
  abandon(key: string, token: string, pauseMs: number): Promise<boolean>;
  /** Returns whether there was a value. */
  delete(key: string): Promise<boolean>;
  /** Returns false if the entry was changed meanwhile. */
  expire(request: ExpireRequest): Promise<boolean>;
  invalidate(tags: readonly string[]): Promise<void>;
  /** @param leases The tokens of leases by key. */
  renew(leases: ReadonlyMap<string, string>): Promise<void>;
}

/** The wake-ups of readers that wait for loads. */
export interface LoadWakeups {
  /** The channel for leases; '' while no wake-ups arrive. */
  readonly channel: string;
  /** Resolves to whether wake-ups arrive from now on, after `ms` at the latest. */
  listen(ms: number): Promise<boolean>;
  /** A flag that the end of a load raises until `forget`. Needed before the lease request: its reply may come later. */
  expect(redisKey: string): WakeUp;
  forget(redisKey: string, wakeUp: WakeUp): void;
}

/** The shards of a cache and what keeps the near tier coherent with them. */
export interface Backend {
  readonly shards: readonly EntryStore[];
  /** Of each shard. */
  readonly wakeups: readonly LoadWakeups[];
  /** Called before each read. */
  start(): void;
  /** Idempotent; `start` may be called again. */
  stop(): Promise<void>;
}
