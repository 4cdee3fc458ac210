/**
 * Sharded subscriptions on Redis Cluster: SSUBSCRIBE on a connection of our own to the master that owns the slot of
 * the channel. One connection per master that has a channel, from its first channel to its last.
 *
 * Rejected: the option `shardedSubscribers` of ioredis. ioredis 5 lacks it or loses subscriptions when slots move,
 * and 6 emits some hundred error events while a master fails over. Here a keeper loop compares, after every break
 * and once in a while, where each channel is subscribed with who owns its slot now, and moves what has moved.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { ClientClosedError } from './coded-error.js';
import type { RedisClient } from './client.js';
import { keySlot } from './key-slot.js';
import { Loop } from './loop.js';
import { ShardConnection } from './shard-connection.js';
import type { Subscriber, SubscriberEvents } from './subscriber.js';

/** What `Cluster` of ioredis offers beyond a client. */
interface ClusterClient extends RedisClient {
  /** By slot: the master as `host:port`, then its replicas. */
  readonly slots: readonly (readonly string[] | undefined)[];
  nodes(): (RedisClient & { readonly options: { host?: string; port?: number } })[];
  refreshSlotsCache(callback: (error?: Error | null) => void): void;
}

/** A channel that is wanted, and where it is subscribed. */
interface Place {
  readonly slot: number;
  /** Its first subscription is not made yet: `subscribe` sees to it, not the keeper. */
  isNew: boolean;
  shard?: ShardConnection;
  /** Of the subscription that was made or is under way; undefined when it has to be made (again). */
  isConfirmed?: Promise<void> | undefined;
}

/** How often owners are compared when nothing seems to have happened. Costs no command. */
const COMPARE_MS = 1_000;
/**
 * After a break the slot map is fetched anew with each comparison for so long: a node that has not heard yet of a
 * failover names the old master, which, as a replica now, would take the subscription.
 */
const SETTLE_MS = 5_000;
/** A first subscription fails when its slot has no reachable owner for so long: a failover passes unnoticed. */
const FIRST_LIMIT_MS = 10_000;
const FIRST_PAUSE_MS = 100;
/** Refusals that a new slot map, or the end of a failover, may cure. */
const PASSING_REFUSAL = /^(MOVED|ASK|TRYAGAIN|CLUSTERDOWN|LOADING|MASTERDOWN)\b/;

export class ShardedSubscriber implements Subscriber {
  readonly #client: ClusterClient;
  readonly #events: SubscriberEvents;
  readonly #shards = new Map<string, ShardConnection>();
  readonly #places = new Map<string, Place>();
  readonly #keeper = new Loop('mortise sharded subscriber', () => this.#keep(), {
    // Commands to a slot without an owner fail for their callers. Here the subscription is only tried again.
    onError: () => undefined,
    backoff: { maxDelayMs: 1_000 },
  });
  /** Until this instant the slot map of the client may be behind. */
  #doubtEndsAt = 0;

  constructor(client: RedisClient, events: SubscriberEvents) {
    this.#client = client as ClusterClient;
    this.#events = events;
  }

  async subscribe(channel: string): Promise<void> {
    const place: Place = { slot: keySlot(channel), isNew: true };
    this.#places.set(channel, place);
    const limitAt = performance.now() + FIRST_LIMIT_MS;
    try {
      // The first command on a cluster waits until the slots are known.
      if (this.#client.status !== 'ready') await this.#client.call('ping', []);
      for (;;) {
        if (this.#places.get(channel) !== place) throw new ClientClosedError();
        this.#keeper.start();
        try {
          await this.#place(channel, place);
          place.isNew = false;
          // Lost in the same moment: the keeper has passed over it.
          if (!place.isConfirmed) this.#keeper.wake();
          return;
        } catch (error) {
          if (isFinal(error) || performance.now() > limitAt) throw error;
        }
        await this.#refreshSlots();
        await pause(FIRST_PAUSE_MS);
      }
    } catch (error) {
      if (this.#places.get(channel) === place) this.unsubscribe(channel);
      throw error;
    }
  }

  unsubscribe(channel: string): void {
    const place = this.#places.get(channel);
    this.#places.delete(channel);
    if (place?.shard) this.#leave(place.shard, channel);
    if (this.#places.size === 0) void this.#keeper.stop();
  }

  close(): void {
    void this.#keeper.stop();
    this.#places.clear();
    for (const shard of this.#shards.values()) shard.close();
    this.#shards.clear();
  }

  /** Subscribes at the present owner of the slot, unless that is done or under way. */
  async #place(channel: string, place: Place): Promise<void> {
    const shard = this.#shardOf(place.slot);
    if (place.shard !== shard || !place.isConfirmed) {
      if (place.shard && place.shard !== shard) this.#leave(place.shard, channel);
      const isConfirmed = shard.subscribe(channel);
      place.shard = shard;
      place.isConfirmed = isConfirmed;
      isConfirmed.catch(() => {
        if (place.isConfirmed === isConfirmed) place.isConfirmed = undefined;
      });
    }
    await place.isConfirmed;
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
      onMoved: (moved) => this.#doubt(moved),
      onLost: (lost) => {
        if (this.#shards.get(node) === lost) this.#shards.delete(node);
        this.#doubt(lost);
      },
    });
    this.#shards.set(node, shard);
    return shard;
  }

  #leave(shard: ShardConnection, channel: string): void {
    shard.unsubscribe(channel);
    if (!shard.isIdle) return;
    shard.close();
    if (this.#shards.get(shard.node) === shard) this.#shards.delete(shard.node);
  }

  /** Every subscription on this connection is to be made again. */
  #doubt(shard: ShardConnection): void {
    for (const place of this.#places.values()) if (place.shard === shard) place.isConfirmed = undefined;
    this.#doubtEndsAt = performance.now() + SETTLE_MS;
    this.#keeper.wake();
  }

  /** Places what is in doubt or whose slot has moved; throws, and so backs off, when one has no reachable owner. */
  async #keep(): Promise<number> {
    if (performance.now() < this.#doubtEndsAt) await this.#refreshSlots();
    const due = [...this.#places].filter(
      ([, { isNew, isConfirmed, shard, slot }]) =>
        !isNew && (!isConfirmed || shard?.node !== this.#client.slots[slot]?.[0]),
    );
    if (due.length === 0) return COMPARE_MS;
    this.#events.onInterrupted(due.map(([channel]) => channel));
    const results = await Promise.allSettled(due.map(([channel, place]) => this.#place(channel, place)));
    const isPlaced = (_: unknown, index: number): boolean => results[index]?.status === 'fulfilled';
    this.#events.onResync(due.filter(isPlaced).map(([channel]) => channel));
    const failed = results.find((result) => result.status === 'rejected');
    if (failed) {
      this.#doubtEndsAt = performance.now() + SETTLE_MS;
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

/** A refusal that trying again won't change, such as missing rights. */
function isFinal(error: unknown): boolean {
  return error instanceof Error && error.name === 'ReplyError' && !PASSING_REFUSAL.test(error.message);
}
