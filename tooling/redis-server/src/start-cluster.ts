import { freePort, until } from '@mortise/server-process';

import { findRedisServer } from './binary.js';
import type { Certificate } from './certificate.js';
import { seedFor, writeSeed, type Placeholder } from './cluster-seed.js';
import { announceReplica, settle, SETTLE_DEADLINE_MS, viewOf, type SeenNode } from './cluster-view.js';
import { RedisCluster } from './cluster.js';
import { RedisServer } from './server.js';
import { startAll, withFreshPorts } from './start-all.js';

export interface ClusterOptions {
  /** @defaultValue 3 */
  masters?: number;
  /** @defaultValue 1 */
  replicasPerMaster?: number;
  /** After how long a silent node counts as failed; a failover takes about twice this. @defaultValue 2000 */
  nodeTimeoutMs?: number;
  /** Clients and replicas must log in with it. @defaultValue none */
  password?: string;
  /** Clients and nodes must use TLS. @defaultValue plain connections */
  certificate?: Certificate;
  /** Turns the append-only file on. @defaultValue no persistence */
  appendFsync?: 'always' | 'everysec';
}

/** Starts a Redis Cluster and waits until all nodes agree and all replicas are linked. */
export function startCluster(options: ClusterOptions = {}): Promise<RedisCluster> {
  return withFreshPorts(() => startOnce(options));
}

async function startOnce(options: ClusterOptions): Promise<RedisCluster> {
  const {
    masters = 3,
    replicasPerMaster = 1,
    nodeTimeoutMs = 2000,
    password,
    certificate,
    appendFsync,
  } = options;
  if (!(masters >= 1)) throw new RangeError(`masters is ${masters}: a cluster needs at least 1`);
  const binary = await findRedisServer();
  const count = masters * (1 + replicasPerMaster);
  const ports = await Promise.all(Array.from({ length: count }, () => freePort(true)));
  const seed = seedFor(ports, masters, binary);
  const args = ['--save', '', '--enable-debug-command', 'local', '--repl-diskless-sync-delay', '0'];
  args.push('--cluster-enabled', 'yes', '--cluster-announce-ip', '127.0.0.1');
  args.push('--cluster-node-timeout', String(nodeTimeoutMs), '--cluster-replica-validity-factor', '0');
  if (appendFsync !== undefined) args.push('--appendonly', 'yes', '--appendfsync', appendFsync);
  args.push('--cluster-allow-replica-migration', 'no'); // replicas stay where a test knows them
  const nodes = await startAll(
    seed.nodes.map((self) => {
      let isSeeded = false;
      const prepare = async ({ directory }: { directory: string }): Promise<string[]> => {
        if (!isSeeded) await writeSeed(directory, self, seed);
        isSeeded = true;
        return [];
      };
      return RedisServer.launch({ binary, port: self.port, password, certificate, args, prepare });
    }),
  );
  const cluster = new RedisCluster(nodes);
  try {
    await takeOver(nodes, nodes.slice(0, masters), seed.placeholders);
  } catch (error) {
    await cluster.stop();
    throw error;
  }
  return cluster;
}

/**
 * Lets the masters take the place of their placeholders, and everybody forget these. The announcement of a new master goes over the
 * links that are there at that moment (a node that misses it learns of it a second later), and two that don't know of each other would take
 * the same epoch: therefore when all are linked, and one after the other.
 */
async function takeOver(
  nodes: RedisServer[],
  masters: RedisServer[],
  placeholders: Placeholder[],
): Promise<void> {
  const ids = new Set(placeholders.map(({ id }) => id));
  const allSee = (what: string, condition: (view: SeenNode[]) => boolean): Promise<true> =>
    until(async () => (await Promise.all(nodes.map(viewOf))).every(condition) && true, {
      what,
      deadlineMs: SETTLE_DEADLINE_MS,
      everyMs: 5,
    });
  await allSee('the nodes to be linked', (view) => view.every((seen) => seen.isLinked || ids.has(seen.id)));
  for (const master of masters) {
    const { port } = master;
    await master.command('CLUSTER', 'FAILOVER', 'TAKEOVER');
    const hasSlots = (seen: SeenNode): boolean => seen.port === port && seen.slots.length > 0;
    await allSee(`node ${port} to be known as a master`, (view) => view.some(hasSlots));
  }
  const replicas = nodes.slice(masters.length);
  await Promise.all(
    replicas.map((node, index) =>
      announceReplica(node, placeholders[index % masters.length]?.id ?? '', nodes),
    ),
  );
  await settle(nodes, 'the cluster to be complete', async () => {
    await Promise.all(nodes.map((node) => forgetPlaceholders(node, ids)));
  });
}

/**
 * Not before the node knows the new owner of the placeholder's slots: slots without an owner would put it into `cluster_state:fail`,
 * and a master into the delay that all this avoids. Nor can a replica forget its master.
 */
async function forgetPlaceholders(node: RedisServer, placeholders: Set<string>): Promise<void> {
  const view = await viewOf(node);
  const idle = view.filter(({ id, slots }) => placeholders.has(id) && slots.length === 0);
  const followed = new Set(view.map((seen) => seen.masterId));
  for (const { id } of idle) if (!followed.has(id)) await node.command('CLUSTER', 'FORGET', id);
}
