/** The slot map of a cluster client of node-redis, and its connections. */
import { setTimeout as pause } from 'node:timers/promises';
import { NodeRedisConnection } from './connection.js';
import type { NodeRedisClient, NodeRedisCluster, NodeRedisNode } from './types.js';

/** node-redis waits for the connections to all new nodes, for ever if one is dead. */
const REFRESH_LIMIT_MS = 2_000;

/** A redirection counts for this time at most. Meanwhile the fetched map may come from a node that doesn't know of it yet. */
const REDIRECTION_MS = 5_000;

/** No public method of node-redis fetches the slot map. Its versions 5 and 6 have this one. */
interface Rediscovering {
  readonly _slots?: { rediscover?(startWith: unknown): Promise<unknown> };
}

export class SlotMap {
  /** By slot: the master as `host:port`, for `slots[slot]?.[0]`. */
  readonly addresses: readonly (readonly string[] | undefined)[];
  readonly #cluster: NodeRedisCluster;
  readonly #connections = new WeakMap<object, NodeRedisConnection>();
  /** By slot: the master that a MOVED named, until the map names it too. */
  readonly #moved = new Map<number, { readonly address: string; readonly until: number }>();
  /** Clients of nodes that appeared after the cluster client was closed. */
  readonly #late = new WeakSet<NodeRedisClient>();
  #refreshing: Promise<void> | undefined;

  constructor(cluster: NodeRedisCluster) {
    this.#cluster = cluster;
    this.addresses = new Proxy<(readonly string[])[]>([], {
      get: (_, slot) => {
        const address = this.#nodeOf(Number(slot))?.address;
        return address === undefined ? undefined : [address];
      },
    });
  }

  /** The connection of the master of a slot, connected or not. */
  master(slot: number): NodeRedisConnection | undefined {
    return this.#connectionOf(this.#nodeOf(slot));
  }

  /** A node has said that the slot is at this address. */
  learn(slot: number, address: string): void {
    this.#moved.set(slot, { address, until: performance.now() + REDIRECTION_MS });
    void this.refresh();
  }

  /** A connected master. */
  any(): NodeRedisConnection | undefined {
    return this.connections().find(({ status }) => status === 'ready');
  }

  /** The connections of the masters. Opens those that `minimizeConnections` has left out. */
  connections(): NodeRedisConnection[] {
    return this.#cluster.masters.flatMap((node) => this.#connectionOf(node) ?? []);
  }

  anyReady(): boolean {
    return this.#cluster.masters.some(isReady);
  }

  /** Whether all slots have a connected master. */
  allReady(): boolean {
    const { masters } = this.#cluster;
    return masters.length > 0 && masters.every((node) => !node.client || isReady(node));
  }

  has(address: string): boolean {
    return this.#cluster.nodeByAddress.has(address);
  }

  /** The connection of a node, once it is up; undefined for an unknown node. */
  async connect(address: string): Promise<NodeRedisConnection | undefined> {
    const node = this.#cluster.nodeByAddress.get(address);
    if (!node) return undefined;
    await Promise.race([
      Promise.resolve(this.#cluster.nodeClient(node)).catch(() => undefined),
      pause(REFRESH_LIMIT_MS, undefined, { ref: false }),
    ]);
    return this.#connectionOf(node);
  }

  /** Fetches the map, if any node answers. Never rejects. */
  refresh(): Promise<void> {
    this.#refreshing ??= this.#fetch().finally(() => {
      this.#refreshing = undefined;
    });
    return this.#refreshing;
  }

  /**
   * Ends the connections that a closed cluster client opens all the same: node-redis forgets its nodes when it closes, and a map
   * that arrives afterwards brings them back. They would be connected again for ever.
   */
  endLate(): void {
    if (this.#cluster.isOpen) return;
    for (const { client } of this.#cluster.nodeByAddress.values()) {
      const late = client as NodeRedisClient | undefined;
      if (!late || this.#late.has(late)) continue;
      this.#late.add(late);
      const end = (): void => {
        if (late.isOpen) late.destroy();
      };
      // One that is destroyed while it connects stays connected.
      if (late.isReady) end();
      late.on('ready', end);
      late.on('error', end);
    }
  }

  #nodeOf(slot: number): NodeRedisNode | undefined {
    const known = this.#cluster.slots[slot]?.master;
    const moved = this.#moved.size > 0 ? this.#moved.get(slot) : undefined;
    if (!moved) return known;
    const node = this.#cluster.nodeByAddress.get(moved.address);
    if (node && moved.address !== known?.address && performance.now() < moved.until) return node;
    if (node) this.#moved.delete(slot);
    return known;
  }

  async #fetch(): Promise<void> {
    const cluster = this.#cluster as NodeRedisCluster & Rediscovering;
    const node = cluster.masters.find(isReady) ?? cluster.masters.find(({ client }) => client);
    if (!cluster.isOpen || !node) return;
    // oxlint-disable-next-line eslint/no-underscore-dangle -- its name
    const fetched = Promise.resolve(cluster._slots?.rediscover?.(node.client)).catch(() => undefined);
    await Promise.race([fetched, pause(REFRESH_LIMIT_MS, undefined, { ref: false })]);
  }

  #connectionOf(node: NodeRedisNode | undefined): NodeRedisConnection | undefined {
    if (!node) return undefined;
    const client = node.client as NodeRedisClient | undefined;
    if (!client) {
      Promise.resolve(this.#cluster.nodeClient(node)).catch(() => undefined);
      return undefined;
    }
    let connection = this.#connections.get(client);
    if (!connection) {
      connection = new NodeRedisConnection(client, { address: node, resends: false });
      this.#connections.set(client, connection);
    }
    return connection;
  }
}

function isReady({ client }: NodeRedisNode): boolean {
  return (client as NodeRedisClient | undefined)?.isReady === true;
}
