import type { RedisServer } from '@mortise/redis-server';

/** How many connections are subscribed to a channel, on all servers that run. */
export async function subscribersOf(servers: RedisServer[], channel: string): Promise<number> {
  const able = servers.filter(({ isAnswering }) => isAnswering);
  const counts = await Promise.all(
    able.flatMap((server) =>
      ['NUMSUB', 'SHARDNUMSUB'].map(async (count) => {
        const reply = (await server.command('PUBSUB', count, channel)) as unknown[];
        return Number(reply[1]);
      }),
    ),
  );
  return counts.reduce((sum, subscribers) => sum + subscribers, 0);
}

/** The connections whose name contains `name`: their ids on their server, and their names. */
export async function connectionsOf(
  servers: RedisServer[],
  name: string,
): Promise<{ server: RedisServer; id: string; name: string }[]> {
  const able = servers.filter(({ isAnswering }) => isAnswering);
  const lists = await Promise.all(
    able.map(async (server) =>
      String(await server.command('CLIENT', 'LIST'))
        .split('\n')
        .map((line) => ({
          server,
          id: /\bid=(\d+)/.exec(line)?.[1] ?? '',
          name: /\bname=(\S*)/.exec(line)?.[1] ?? '',
        })),
    ),
  );
  return lists.flat().filter((connection) => connection.name.includes(name));
}

/** How often each command was called on a server since CONFIG RESETSTAT, without those of these observations. */
export async function commandsOf(server: RedisServer): Promise<Record<string, number>> {
  const stats = String(await server.command('INFO', 'commandstats'));
  const counted = [...stats.matchAll(/^cmdstat_([\w|-]+):calls=(\d+)/gm)];
  return Object.fromEntries(
    counted
      .map(([, name, calls]) => [name!, Number(calls)] as const)
      .filter(([name]) => !/^(config|info|client|command|hello|pubsub)\b/.test(name))
      .toSorted(([one], [other]) => (one < other ? -1 : 1)),
  );
}
