/**
 * The commands of tests that the user of the packages may not send, or that a client of a Cluster would send to one node of many. They go to
 * every master as the user `default`, on connections of their own, and the replies are made one. The user has no further right for them.
 */
import type { Redis } from 'ioredis/built/index.js';
import * as ioredis from 'ioredis/built/index.js';
import type { ProtectedServers } from './servers.js';

type Arguments = readonly (string | number | Buffer)[];

/** Sends a command to every master. */
export async function administer(
  servers: ProtectedServers,
  command: string,
  args: Arguments = [],
  call: 'call' | 'callBuffer' = 'call',
): Promise<unknown> {
  const [part = ''] = args;
  if (!servers.sentinel && command === 'pubsub' && !/^shard/i.test(String(part))) {
    // The packages use sharded channels there.
    return administer(servers, command, [`shard${String(part)}`, ...args.slice(1)]);
  }
  const outcomes = await Promise.allSettled(
    servers.masters.map((master) => once(master, servers, (node) => node[call](command, ...args))),
  );
  const replies = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []));
  // CLIENT KILL fails where there is no such connection, RESTORE where the key is not.
  if (replies.length === 0) throw (outcomes[0] as PromiseRejectedResult).reason;
  return merged([command, String(args[0] ?? '')].join(' ').trim().toLowerCase(), replies);
}

/** A connection for one command: none stays open after the tests, or is in their lists of connections. */
async function once<Result>(
  { host, port }: ProtectedServers['masters'][number],
  { isTls, adminPassword }: ProtectedServers,
  use: (node: Redis) => Promise<Result>,
): Promise<Result> {
  const node = new ioredis.Redis({
    host,
    port,
    password: adminPassword,
    ...(isTls && { tls: {} }),
    retryStrategy: () => null,
    disconnectTimeout: 100,
  });
  node.on('error', () => undefined);
  try {
    return await use(node);
  } finally {
    node.disconnect();
  }
}

function merged(command: string, replies: readonly unknown[]): unknown {
  if (command.startsWith('keys ') || command === 'pubsub channels' || command === 'pubsub shardchannels')
    return (replies as unknown[][]).flat();
  if (command.startsWith('pubsub')) return subscribers(replies as (string | number)[][]);
  if (command === 'client list') return (replies as string[]).map(ofUser).join('');
  if (replies.every((reply) => typeof reply === 'number'))
    return replies.reduce((sum, reply) => sum + reply, 0);
  return replies[0];
}

/** Names and numbers in turn. */
function subscribers(replies: readonly (string | number)[][]): (string | number)[] {
  const sums = [...(replies[0] ?? [])];
  for (const reply of replies.slice(1)) {
    for (let at = 1; at < sums.length; at += 2) sums[at] = Number(sums[at]) + Number(reply[at]);
  }
  return sums;
}

/** Without the connections of this module. */
function ofUser(list: string): string {
  return list
    .split('\n')
    .filter((line) => !line.includes(' user=default '))
    .join('\n');
}
