import type { Reply } from './resp.js';
import type { RedisServer } from './server.js';

/** A master, replica or sentinel as a sentinel describes it: names and values as SENTINEL MASTER prints them. */
type Described = Record<string, string>;

/** The port of the master, and the epoch of the failover that made it one, in the opinion of one sentinel. */
export async function masterSeenBy(
  sentinel: RedisServer,
  name: string,
): Promise<{ port: number; epoch: number }> {
  const master = described(await sentinel.command('SENTINEL', 'MASTER', name));
  return { port: Number(master['port']), epoch: Number(master['config-epoch']) };
}

/** How many replicas are linked to a master, in its own opinion. */
export async function linkedReplicas(master: RedisServer): Promise<number> {
  const info = String(await master.command('INFO', 'replication'));
  return info.match(/state=online/g)?.length ?? 0;
}

/**
 * Throws unless a sentinel sees `master` as the master, and all other servers and sentinels that run as up, the servers
 * being linked replicas. The error says what isn't so.
 */
export async function assertSees(
  sentinel: RedisServer,
  expected: { name: string; master: RedisServer; servers: RedisServer[]; sentinels: RedisServer[] },
): Promise<void> {
  const { name, master, servers, sentinels } = expected;
  const ask = async (what: string): Promise<Reply[]> =>
    [await sentinel.command('SENTINEL', what, name)].flat();
  const fail = (what: string): never => {
    throw new Error(`sentinel ${sentinel.port} ${what}`);
  };
  const seenMaster = described(await ask('MASTER'));
  const replicas = (await ask('REPLICAS')).map(described);
  const others = (await ask('SENTINELS')).map(described);
  const check = (kind: string, seen: Described | undefined, port: number): void => {
    if (seen?.['flags'] !== kind) fail(`sees ${kind} ${port} as ${seen?.['flags'] ?? 'unknown'}`);
  };
  if (seenMaster['port'] !== String(master.port)) fail(`takes ${seenMaster['port']} for the master`);
  check('master', seenMaster, master.port);
  for (const { port } of servers.filter((server) => server !== master)) {
    const replica = replicas.find((seen) => seen['port'] === String(port));
    check('slave', replica, port);
    const isLinked =
      replica?.['master-link-status'] === 'ok' && replica['master-port'] === String(master.port);
    if (!isLinked) fail(`sees no link of replica ${port} to master ${master.port}`);
  }
  for (const { port } of sentinels.filter((other) => other !== sentinel)) {
    const seen = others.find((other) => other['port'] === String(port));
    check('sentinel', seen, port);
  }
}

function described(reply: Reply): Described {
  if (!Array.isArray(reply)) return {};
  const pairs = reply.map((name, index) => [String(name), String(reply[index + 1])] as const);
  return Object.fromEntries(pairs.filter((_, index) => index % 2 === 0));
}
