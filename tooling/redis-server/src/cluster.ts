import { until } from '@mortise/server-process';

import { announceReplica, settle, SETTLE_DEADLINE_MS, viewOf, type SeenNode } from './cluster-view.js';
import { keySlot } from './key-slot.js';
import { migrateSlot } from './move-slot.js';
import { replicated } from './replicated.js';
import type { RedisServer } from './server.js';

/** A manual failover that hasn't happened after 5 s is abandoned by Redis, without a word. */
const FAILOVER_RETRY_MS = 5500;

/** A running Redis Cluster. Its nodes may be killed, paused and restarted one by one. */
export class RedisCluster {
  /** The masters first, then the replicas, as they were at the start: failovers don't change the order. */
  readonly nodes: RedisServer[];
  /** For the constructor of a client. */
  readonly startupNodes: { host: string; port: number }[];

  /** For this package: users call `startCluster()`. */
  constructor(nodes: RedisServer[]) {
    this.nodes = nodes;
    this.startupNodes = nodes.map(({ host, port }) => ({ host, port }));
  }

  /** The node that owns a slot (number) or the slot of a key (string): of all claims that nodes know of, the newest. */
  async ownerOf(slotOrKey: number | string): Promise<RedisServer> {
    const slot = typeof slotOrKey === 'number' ? slotOrKey : keySlot(slotOrKey);
    const views = await Promise.all(this.#answering().map(viewOf));
    const owners = views
      .flat()
      .filter((seen) => seen.slots.some(([first, last]) => first <= slot && slot <= last));
    const newest = owners.toSorted((a, b) => b.configEpoch - a.configEpoch)[0];
    if (newest === undefined) throw new RangeError(`slot ${slot} has no owner`);
    return this.#nodeAt(newest.port);
  }

  /** The replicas of a master that run and aren't paused. */
  async replicasOf(master: RedisServer): Promise<RedisServer[]> {
    const views = await Promise.all(
      this.#answering().map(async (node) => ({ node, view: await viewOf(node) })),
    );
    return views.flatMap(({ node, view }) => {
      const self = view.find((seen) => seen.port === node.port);
      const isReplica = self?.masterId !== undefined && self.masterId === idOf(view, master);
      return isReplica ? [node] : [];
    });
  }

  /**
   * Promotes a replica of a master without loss of data (with CLUSTER FAILOVER; with FORCE when the master is down or paused),
   * waits until all nodes agree, and returns the new master. A running old master is then its replica.
   */
  async failover(master: RedisServer): Promise<RedisServer> {
    const replicas = await this.replicasOf(master);
    const [replica] = replicas;
    if (replica === undefined)
      throw new RangeError(`node ${master.port} has no replica that could take its place`);
    const { id: masterId, slots } = (await viewOf(replica)).find((seen) => seen.port === master.port) ?? {};
    const slot = slots?.[0]?.[0];
    if (masterId === undefined || slot === undefined)
      throw new RangeError(`node ${master.port} owns no slot`);
    const how = master.isAnswering ? [] : ['FORCE'];
    const what = `node ${replica.port} to replace ${master.port}`;
    let sentAt = -Infinity;
    const replacement = async (): Promise<RedisServer | undefined> => {
      const owner = await this.ownerOf(slot);
      if (owner !== master) return owner;
      if (performance.now() - sentAt > FAILOVER_RETRY_MS) {
        await replica.command('CLUSTER', 'FAILOVER', ...how);
        sentAt = performance.now();
      }
      return undefined;
    };
    const owner = await until(replacement, {
      what,
      deadlineMs: SETTLE_DEADLINE_MS,
      details: () => replica.logTail(),
    });
    const followers = [master, ...replicas].filter((node) => node !== owner && node.isAnswering);
    await Promise.all(followers.map((node) => announceReplica(node, masterId, this.nodes)));
    await settle(this.nodes, what);
    return owner;
  }

  /** Waits until the replicas of all masters have what was written before the call, so that it outlives a master. */
  async replicated(): Promise<void> {
    const running = this.#answering();
    await Promise.all(running.map(async (node) => replicated(node, await this.replicasOf(node))));
  }

  /** Waits until all nodes that run have the same picture of the cluster, and all replicas are linked. */
  async settled(): Promise<void> {
    await settle(this.nodes, 'the cluster to be complete');
  }

  /** Moves a slot with all its keys to another master while clients go on, and waits until all nodes know. */
  async moveSlot(slot: number, to: RedisServer): Promise<void> {
    const from = await this.ownerOf(slot);
    if (from === to) return;
    const view = await viewOf(to);
    const masters = view.filter((seen) => seen.masterId === undefined).map((seen) => this.#nodeAt(seen.port));
    if (!masters.includes(to))
      throw new RangeError(`node ${to.port} is a replica: only a master can own slot ${slot}`);
    const [fromId = '', toId = ''] = [idOf(view, from), idOf(view, to)];
    await migrateSlot({
      slot,
      from,
      to,
      fromId,
      toId,
      masters: masters.filter((master) => master.isAnswering),
    });
    await settle(this.nodes, `slot ${slot} to be at node ${to.port}`);
  }

  /** Stops all nodes and removes their directories. Idempotent. */
  async stop(): Promise<void> {
    await Promise.all(this.nodes.map((node) => node.stop()));
  }

  #answering(): RedisServer[] {
    return this.nodes.filter((node) => node.isAnswering);
  }

  #nodeAt(port: number): RedisServer {
    const node = this.nodes.find((candidate) => candidate.port === port);
    if (node === undefined) throw new RangeError(`no node of this cluster listens on port ${port}`);
    return node;
  }
}

function idOf(view: SeenNode[], node: RedisServer): string | undefined {
  return view.find((seen) => seen.port === node.port)?.id;
}
