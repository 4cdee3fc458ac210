/** The servers of a run: a Cluster of three masters and three replicas, or a master with two replicas and three sentinels. */
import type { RedisCluster, RedisSentinel, RedisServer } from '@mortise/redis-server';
import { startCluster, startSentinel } from '@mortise/redis-server';
import type { NatMap, RedisAddress } from '../locks/config.js';
import type { Deployment } from './draw.js';

export interface Group {
  /** Masters and replicas, without the sentinels. */
  readonly servers: readonly RedisServer[];
  /** Whether a failover on request loses the last writes. */
  readonly losesByFailover: boolean;
  /** The address that clients use, through the proxies. */
  addressBy(natMap: NatMap): RedisAddress;
  masters(): Promise<RedisServer[]>;
  /** Makes a replica take over, and waits until all servers agree on the new master. */
  failover(master: RedisServer): Promise<void>;
  /** Waits until all servers agree on the masters, and each replica has a link to its master. */
  settled(): Promise<void>;
  moveSlot?(slot: number, to: RedisServer): Promise<void>;
  stop(): Promise<void>;
}

/** Longer than a busy machine keeps a server waiting, so that no replica takes over by mistake. */
const NODE_TIMEOUT_MS = 5_000;
const DOWN_AFTER_MS = 3_000;
/** One slot of each master at the start. */
const SLOTS = [0, 8_000, 16_000];

export async function startGroup(on: Deployment): Promise<Group> {
  return on === 'cluster'
    ? clusterOf(await startCluster({ nodeTimeoutMs: NODE_TIMEOUT_MS, appendFsync: 'everysec' }))
    : sentinelOf(await startSentinel({ downAfterMs: DOWN_AFTER_MS, appendFsync: 'everysec' }));
}

function clusterOf(cluster: RedisCluster): Group {
  return {
    servers: cluster.nodes,
    losesByFailover: false,
    addressBy: (natMap) => ({
      startupNodes: cluster.nodes.map(({ host, port }) => natMap[`${host}:${port}`]!),
      natMap,
    }),
    masters: async () => [...new Set(await Promise.all(SLOTS.map((slot) => cluster.ownerOf(slot))))],
    failover: async (master) => {
      await cluster.failover(master);
    },
    settled: () => cluster.settled(),
    moveSlot: (slot, to) => cluster.moveSlot(slot, to),
    stop: () => cluster.stop(),
  };
}

function sentinelOf(group: RedisSentinel): Group {
  return {
    servers: group.servers,
    losesByFailover: true,
    addressBy: (natMap) => ({ name: group.name, sentinels: group.sentinels, natMap }),
    masters: async () => [await group.master()],
    failover: () => group.failover(),
    settled: () => group.settled(),
    stop: () => group.stop(),
  };
}
