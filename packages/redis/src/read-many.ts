/**
 * Reads many entities at once. A single command costs a socket write on both sides: 8 to 15 µs of Redis. In a pipeline it costs
 * 0.6 to 1.5 µs. On Cluster a pipeline must go to one node, so there is one for each node.
 *
 * Rejected: the pipelines of `Cluster` in ioredis. They refuse keys of several nodes. When a slot has moved, they repeat all of
 * their commands at the new node, which redirects those of other slots again. Here a read that a node refused is sent once
 * more, as a single command, and ioredis follows its redirection.
 */
import { callRedis, sendVia } from './client-calls.js';
import type { CommandArgument, RedisClient, RedisConnection } from './client.js';
import { failureOf } from './failure-of.js';
import { keySlot } from './key-slot.js';

/**
 * A read command: its name, its key, its other arguments. A command without a key, such as TIME, goes to the node of the read
 * before it.
 */
export type Read = readonly [command: string, key?: string, ...more: CommandArgument[]];

interface Pipeline {
  call(command: string, ...args: CommandArgument[]): unknown;
  exec(): Promise<[error: Error | null, reply: unknown][] | null>;
}

interface PipeliningConnection extends RedisConnection {
  readonly options: { readonly host?: string; readonly port?: number };
  pipeline(): Pipeline;
}

/** The members of `Cluster` in ioredis that a client doesn't have. */
interface ClusterClient extends RedisClient {
  /** By slot: the master as `host:port`, then its replicas. */
  readonly slots: readonly (readonly string[] | undefined)[];
  nodes(role: 'master'): PipeliningConnection[];
}

/** Replies of a node that does not serve the slot now, and the error of ioredis for a node that is gone. */
const ELSEWHERE = /^(MOVED|ASK|TRYAGAIN|CLUSTERDOWN|LOADING|MASTERDOWN|READONLY)\b|Connection is closed/;

/** Does the same as `readEach`, but rejects with the first error. */
export async function readMany(client: RedisClient, reads: readonly Read[]): Promise<unknown[]> {
  const replies = await readEach(client, reads);
  for (const reply of replies) if (reply instanceof Error) throw reply;
  return replies;
}

/**
 * Resolves to the replies to all reads, in their order; bulk replies are strings. The reply to a refused read is its error. Not
 * atomic. One round trip, by one pipeline for each node that has a key, always to masters. Reads that a node refused because a
 * slot has moved cost one more round trip.
 */
export async function readEach(client: RedisClient, reads: readonly Read[]): Promise<unknown[]> {
  if (reads.length === 0) return [];
  if (!client.isCluster) {
    if (client.status !== 'ready') return Promise.all(reads.map((read) => single(client, read)));
    const send = () => pipelined(client as RedisConnection as PipeliningConnection, reads);
    const results = (await sendVia(client, send)) as readonly Result[];
    return results.map((result) => replyOf(client, result));
  }
  const replies: unknown[] = Array.from({ length: reads.length });
  await Promise.all(
    Array.from(byNode(client as ClusterClient, reads), async ([node, indexes]) => {
      const results =
        node &&
        (await pipelined(
          node,
          indexes.map((index) => reads[index]!),
        ));
      await Promise.all(
        indexes.map(async (index, position) => {
          const result = results?.[position];
          const isElsewhere = !result || (result[0] && ELSEWHERE.test(result[0].message));
          replies[index] = isElsewhere ? await single(client, reads[index]!) : replyOf(client, result);
        }),
      );
    }),
  );
  return replies;
}

/** The indexes of the reads for each node; undefined for an unknown node, as before the first connection. */
function byNode(
  client: ClusterClient,
  reads: readonly Read[],
): Map<PipeliningConnection | undefined, number[]> {
  const nodes = new Map(
    client.nodes('master').map((node) => [`${node.options.host ?? ''}:${node.options.port ?? ''}`, node]),
  );
  const groups = new Map<PipeliningConnection | undefined, number[]>();
  let node: PipeliningConnection | undefined;
  for (const [index, [, key]] of reads.entries()) {
    if (key !== undefined) node = nodes.get(client.slots[keySlot(key)]?.[0] ?? '');
    const group = groups.get(node);
    if (group) group.push(index);
    else groups.set(node, [index]);
  }
  return groups;
}

type Result = [error: Error | null, reply: unknown];

async function pipelined(
  connection: PipeliningConnection,
  reads: readonly Read[],
): Promise<readonly Result[]> {
  const pipeline = connection.pipeline();
  for (const [command, ...args] of reads) pipeline.call(command, ...(args as CommandArgument[]));
  return (await pipeline.exec()) ?? [];
}

function replyOf(client: RedisClient, [error, reply]: Result): unknown {
  return error ? failureOf(client, error) : reply;
}

async function single(client: RedisClient, [command, ...args]: Read): Promise<unknown> {
  try {
    return await callRedis(client, command, args as CommandArgument[]);
  } catch (error) {
    return error;
  }
}
