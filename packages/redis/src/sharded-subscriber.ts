/**
 * Sharded subscriptions on Redis Cluster: SSUBSCRIBE on a connection of our own to the master that owns the slot of the
 * channel. A master with a channel has one connection, from its first channel to its last.
 *
 * A loop compares the place of each subscription with the present owner of its slot, after every break and once a second. It
 * subscribes moved channels at their new owner. Rejected: the option `shardedSubscribers` of ioredis. ioredis 5 lacks it or
 * loses subscriptions when slots move, and 6 emits some hundred error events during a failover.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { ClientClosedError } from './coded-error.js';
import { callRedis } from './client-calls.js';
import type { RedisClient } from './client.js';
import { isTransient } from './is-transient.js';
import { keySlot } from './key-slot.js';
import { Loop } from './loop.js';
import { ShardConnection } from './shard-connection.js';
import type { Subscriber, SubscriberEvents } from './subscriber.js';

/** The members of `Cluster` in ioredis that a client doesn't have. */
interface ClusterClient extends RedisClient {
  /** By slot: the master as `host:port`, then its replicas. */
  readonly slots: readonly (readonly string[] | undefined)[];
  nodes(): (RedisClient & { readonly options: { host?: string; port?: number } })[];
  refreshSlotsCache(callback: (error?: Error | null) => void): void;
}

/** The subscription of a channel. */
interface Subscription {
  readonly slot: number;
  /** `subscribe` still makes the first attempts, so the loop skips it. */
  isNew: boolean;
  shard?: ShardConnection;
  /** Resolves when the server has confirmed. Undefined when the channel has to be subscribed (again). */
  confirmed?: Promise<void> | undefined;
}

/** How often subscriptions and owners of slots are compared without a break. Costs no command. */
const COMPARE_MS = 1_000;
/**
 * For this time after a break each comparison fetches the slot map. A node that doesn't know of a failover yet still names
 * the old master, a replica by now, which would accept the subscription.
 */
const UNCERTAIN_MS = 5_000;
/** A first subscription fails if its slot has no reachable owner for this time, which is longer than a failover. */
const FIRST_LIMIT_MS = 10_000;
const FIRST_PAUSE_MS = 100;

export class ShardedSubscriber implements Subscriber {
  readonly #client: ClusterClient;
  readonly #events: SubscriberEvents;
  readonly #shards = new Map<string, ShardConnection>();
  readonly #subscriptions = new Map<string, Subscription>();
  readonly #loop = new Loop('mortise sharded subscriber', () => this.#repair(), {
    // Commands to a slot without an owner fail for their callers. Here the loop only retries.
    onError: () => undefined,
    backoff: { maxDelayMs: 1_000 },
  });
  /** The client's slot map may be out of date until this instant. */
  #uncertainUntil = 0;

  constructor(client: RedisClient, events: SubscriberEvents) {
    this.#client = client as ClusterClient;
    this.#events = events;
  }

  async subscribe(channel: string): Promise<void> {
    const subscription: Subscription = { slot: keySlot(channel), isNew: true };
    this.#subscriptions.set(channel, subscription);
    const limitAt = performance.now() + FIRST_LIMIT_MS;
    try {
      // The first command on a cluster waits until the slots are known.
      if (this.#client.status !== 'ready') await callRedis(this.#client, 'ping', []);
      for (;;) {
        if (this.#subscriptions.get(channel) !== subscription) throw new ClientClosedError();
        this.#loop.start();
        try {
          await this.#ensure(channel, subscription);
          subscription.isNew = false;
          // It was lost at this moment, and the loop has skipped it.
          if (!subscription.confirmed) this.#loop.wake();
          return;
        } catch (error) {
          if (!isTransient(error) || performance.now() > limitAt) throw error;
        }
        await this.#refreshSlots();
        await pause(FIRST_PAUSE_MS);
      }
    } catch (error) {
      if (this.#subscriptions.get(channel) === subscription) this.unsubscribe(channel);
      throw error;
    }
  }

  unsubscribe(channel: string): void {
    const subscription = this.#subscriptions.get(channel);
    this.#subscriptions.delete(channel);
    if (subscription?.shard) this.#release(subscription.shard, channel);
    if (this.#subscriptions.size === 0) void this.#loop.stop();
  }

  close(): void {
    void this.#loop.stop();
    this.#subscriptions.clear();
    for (const shard of this.#shards.values()) shard.close();
    this.#shards.clear();
  }

  /** Subscribes at the present owner of the slot, unless that is done or in progress. */
  async #ensure(channel: string, subscription: Subscription): Promise<void> {
    const shard = this.#shardOf(subscription.slot);
    if (subscription.shard !== shard || !subscription.confirmed) {
      if (subscription.shard && subscription.shard !== shard) this.#release(subscription.shard, channel);
      const confirmed = shard.subscribe(channel);
      subscription.shard = shard;
      subscription.confirmed = confirmed;
      confirmed.catch(() => {
        if (subscription.confirmed === confirmed) subscription.confirmed = undefined;
      });
    }
    await subscription.confirmed;
  }

  #shardOf(slot: number): ShardConnection {
    const node = this.#client.slots[slot]?.[0];
    if (node === undefined) throw new Error(`no node serves slot ${slot}`);
    const known = this.#shards.get(node);
    if (known) return known;
    const owner = this.#client
      .nodes()
      .find(({ options }) => `${options.host ?? ''}:${options.port ?? ''}` === node);
    if (!owner) throw new Error(`node ${node}, which serves slot ${slot}, is not connected`);
    const shard = new ShardConnection(node, owner, {
      onMessage: (channel, message) => this.#events.onMessage(channel, message),
      onMoved: (moved) => this.#resubscribe(moved),
      onLost: (lost) => {
        if (this.#shards.get(node) === lost) this.#shards.delete(node);
        this.#resubscribe(lost);
      },
    });
    this.#shards.set(node, shard);
    return shard;
  }

  #release(shard: ShardConnection, channel: string): void {
    shard.unsubscribe(channel);
    if (!shard.isIdle) return;
    shard.close();
    if (this.#shards.get(shard.node) === shard) this.#shards.delete(shard.node);
  }

  /** Repeats every subscription of this connection. */
  #resubscribe(shard: ShardConnection): void {
    for (const subscription of this.#subscriptions.values())
      if (subscription.shard === shard) subscription.confirmed = undefined;
    this.#uncertainUntil = performance.now() + UNCERTAIN_MS;
    this.#loop.wake();
  }

  /** Subscribes uncertain channels and those of moved slots. Throws when one has no reachable owner: the loop backs off. */
  async #repair(): Promise<number> {
    if (performance.now() < this.#uncertainUntil) await this.#refreshSlots();
    const due = [...this.#subscriptions].filter(
      ([, { isNew, confirmed, shard, slot }]) =>
        !isNew && (!confirmed || shard?.node !== this.#client.slots[slot]?.[0]),
    );
    if (due.length === 0) return COMPARE_MS;
    this.#events.onInterrupted(due.map(([channel]) => channel));
    const results = await Promise.allSettled(
      due.map(([channel, subscription]) => this.#ensure(channel, subscription)),
    );
    const isDone = (_: unknown, index: number): boolean => results[index]?.status === 'fulfilled';
    this.#events.onResync(due.filter(isDone).map(([channel]) => channel));
    const failed = results.find((result) => result.status === 'rejected');
    if (failed) {
      this.#uncertainUntil = performance.now() + UNCERTAIN_MS;
      throw failed.reason;
    }
    return COMPARE_MS;
  }

  #refreshSlots(): Promise<void> {
    return new Promise((resolve) => {
      this.#client.refreshSlotsCache(() => resolve());
    });
  }
}
