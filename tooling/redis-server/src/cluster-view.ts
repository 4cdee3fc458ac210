// The nodes' views of a cluster. Each node has its own, and after a failover or the move of a slot they differ for
// a while; a test that goes on at that moment meets errors that have nothing to do with what it tests. So everything in this
// package that changes a cluster waits until all nodes that can answer have the same picture.

import { until } from '@mortise/server-process';

import type { RedisServer } from './server.js';

export const SETTLE_DEADLINE_MS = 30_000;

/** One node as another node sees it: a line of CLUSTER NODES. */
export interface SeenNode {
  id: string;
  port: number;
  flags: string[];
  /** `undefined` for a master. */
  masterId: string | undefined;
  /** Of two masters that claim a slot, the one with the higher epoch has it. */
  configEpoch: number;
  /** Whether the seeing node has a connection to this one. */
  isLinked: boolean;
  slots: [first: number, last: number][];
}

/** The cluster as `node` sees it. */
export async function viewOf(node: RedisServer): Promise<SeenNode[]> {
  const text = String(await node.command('CLUSTER', 'NODES'));
  return text.trim().split('\n').map(parseNode);
}

function parseNode(line: string): SeenNode {
  const [id = '', address = '', flags = '', masterId, , , configEpoch, link, ...slots] = line.split(' ');
  return {
    id,
    port: Number(/:(\d+)@/.exec(address)?.[1]),
    flags: flags.split(',').filter((flag) => flag !== 'myself'),
    masterId: masterId === '-' ? undefined : masterId,
    configEpoch: Number(configEpoch),
    isLinked: link === 'connected',
    // Slots on the move are listed as [93->-id] and [77-<-id]; they still belong to their range.
    slots: slots
      .filter((range) => !range.startsWith('['))
      .map((range) => {
        const [first = '', last = first] = range.split('-');
        return [Number(first), Number(last)];
      }),
  };
}

/**
 * Makes a replica whose master has changed tell all others at once, which it would else do one by one, in the course of a second:
 * the packet that introduces a node, sent to nodes that know it already, says whose replica it is.
 */
export async function announceReplica(
  replica: RedisServer,
  formerMaster: string,
  nodes: RedisServer[],
): Promise<void> {
  const hasNewMaster = async (): Promise<boolean> => {
    const self = (await viewOf(replica)).find((seen) => seen.port === replica.port);
    return self?.masterId !== undefined && self.masterId !== formerMaster;
  };
  await until(hasNewMaster, {
    what: `node ${replica.port} to follow another master`,
    deadlineMs: SETTLE_DEADLINE_MS,
  });
  const others = nodes.filter((node) => node !== replica);
  await Promise.all(others.map(({ host, port }) => replica.command('CLUSTER', 'MEET', host, String(port))));
}

/**
 * Throws unless all nodes that can answer see the same owners and replicas and no failure among themselves, are in
 * `cluster_state:ok`, and, where they are replicas, have their link to the master up. The error says what isn't so.
 */
async function assertSettled(nodes: RedisServer[]): Promise<void> {
  const able = nodes.filter((node) => node.isAnswering);
  const ports = new Set(able.map((node) => node.port));
  const pictures = new Set<string>();
  await Promise.all(
    able.map(async (node) => {
      const [view, cluster, replication] = await Promise.all([
        viewOf(node),
        node.command('CLUSTER', 'INFO'),
        node.command('INFO', 'replication'),
      ]);
      const fail = (what: string): never => {
        throw new Error(`node ${node.port} ${what}`);
      };
      if (!String(cluster).includes('cluster_state:ok\r')) fail('is not ok');
      if (/^role:slave[^]*^master_link_status:down/m.test(String(replication)))
        fail('has no link to its master');
      if (view.length !== nodes.length) fail(`sees ${view.length} nodes of ${nodes.length}`);
      const failing = view.find(
        (seen) => ports.has(seen.port) && (seen.flags.length !== 1 || !seen.isLinked),
      );
      if (failing !== undefined)
        fail(`sees ${failing.port} as ${failing.flags.join()}, linked: ${failing.isLinked}`);
      pictures.add(pictureOf(view));
    }),
  );
  if (pictures.size > 1) throw new Error(`the nodes disagree:\n${[...pictures].join('\n\n')}`);
}

/** Waits until all nodes have the same picture; `step` runs before each look, and counts as "not yet" when it throws. */
export async function settle(nodes: RedisServer[], what: string, step?: () => Promise<void>): Promise<void> {
  const isSettled = async (): Promise<true> => {
    await step?.();
    await assertSettled(nodes);
    return true;
  };
  const details = (): string => nodes.map((node) => `node ${node.port}:\n${node.logTail(5)}`).join('\n');
  await until(isSettled, { what, deadlineMs: SETTLE_DEADLINE_MS, everyMs: 50, details });
}

/** The owners of slots and the masters of replicas, in a comparable form. */
function pictureOf(view: SeenNode[]): string {
  const masters = view.filter((seen) => seen.masterId === undefined);
  if (new Set(masters.map((seen) => seen.configEpoch)).size < masters.length)
    throw new Error('two masters share an epoch');
  return view
    .map((seen) => `${seen.port} of ${seen.masterId ?? 'itself'}: ${JSON.stringify(seen.slots)}`)
    .toSorted()
    .join('\n');
}
