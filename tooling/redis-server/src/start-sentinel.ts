// Sentinels find each other and the replicas through messages on the master every two seconds. As with the cluster, we write into
// each one's configuration what it would have found out: 0.4 s until all of them are ready instead of 2.4 s.

import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { freePort } from '@mortise/server-process';

import { findRedisServer, type RedisBinary } from './binary.js';
import { MASTER_NAME, RedisSentinel } from './sentinel.js';
import { RedisServer } from './server.js';
import { startAll, withFreshPorts } from './start-all.js';

export interface SentinelOptions {
  /** @defaultValue 2 */
  replicas?: number;
  /** A majority of them decides. @defaultValue 3 */
  sentinels?: number;
  /** After how long a silent master counts as down. @defaultValue 1000 */
  downAfterMs?: number;
  /** Turns the append-only file on. @defaultValue no persistence */
  appendFsync?: 'always' | 'everysec';
  /** Clients, replicas and sentinels must log in at the servers with it. @defaultValue none */
  password?: string;
  /** Clients and sentinels must log in at the sentinels with it. @defaultValue none */
  sentinelPassword?: string;
}

/**
 * How often sentinels look and speak, shorter than usual (10 s, 2 s and 1 s), and meant by Redis for tests: else it takes them
 * 8 s to turn an old master into a replica, and 10 s more to notice that it is linked.
 */
const PERIODS = ['INFO-PERIOD', '500', 'PUBLISH-PERIOD', '250', 'PING-PERIOD', '250'];
const SHORTEST_FAILOVER_TIMEOUT_MS = 5000;

/** Starts a master, replicas and sentinels, and waits until all sentinels see each other and the replicas. */
export function startSentinel(options: SentinelOptions = {}): Promise<RedisSentinel> {
  return withFreshPorts(() => startOnce(options));
}

async function startOnce({
  replicas = 2,
  sentinels = 3,
  downAfterMs = 1000,
  appendFsync,
  password,
  sentinelPassword,
}: SentinelOptions): Promise<RedisSentinel> {
  if (!(sentinels >= 1))
    throw new RangeError(`sentinels is ${sentinels}: somebody must watch, so at least 1`);
  const binary = await findRedisServer();
  const args = ['--save', '', '--enable-debug-command', 'local', '--repl-diskless-sync-delay', '0'];
  if (appendFsync !== undefined) args.push('--appendonly', 'yes', '--appendfsync', appendFsync);
  const master = await RedisServer.launch({ binary, args, password });
  const started = [master];
  try {
    const replicaArgs = [...args, '--replicaof', `${master.host} ${master.port}`];
    const replicaLaunches = Array.from({ length: replicas }, () =>
      RedisServer.launch({ binary, args: replicaArgs, password }),
    );
    started.push(...(await startAll(replicaLaunches)));
    const sentinelServers = await startSentinels(binary, {
      count: sentinels,
      downAfterMs,
      servers: [...started],
      password: sentinelPassword,
    });
    const sentinel = new RedisSentinel([...started], sentinelServers);
    started.push(...sentinelServers);
    await sentinel.settled();
    return sentinel;
  } catch (error) {
    await Promise.all(started.map((server) => server.stop()));
    throw error;
  }
}

async function hurry(sentinel: RedisServer): Promise<void> {
  await sentinel.command('SENTINEL', 'DEBUG', ...PERIODS);
}

async function startSentinels(
  binary: RedisBinary,
  {
    count,
    downAfterMs,
    servers,
    password,
  }: { count: number; downAfterMs: number; servers: RedisServer[]; password: string | undefined },
): Promise<RedisServer[]> {
  const ports = await Promise.all(Array.from({ length: count }, () => freePort(false)));
  const known = ports.map((port) => ({ port, id: randomBytes(20).toString('hex') }));
  const [master, ...replicas] = servers;
  const quorum = Math.floor(count / 2) + 1;
  const configurationOf = (self: { port: number; id: string }): string =>
    [
      `sentinel myid ${self.id}`,
      `sentinel monitor ${MASTER_NAME} 127.0.0.1 ${master?.port} ${quorum}`,
      ...(master?.password === undefined ? [] : [`sentinel auth-pass ${MASTER_NAME} ${master.password}`]),
      `sentinel down-after-milliseconds ${MASTER_NAME} ${downAfterMs}`,
      `sentinel failover-timeout ${MASTER_NAME} ${Math.max(SHORTEST_FAILOVER_TIMEOUT_MS, 3 * downAfterMs)}`,
      ...replicas.map(({ port }) => `sentinel known-replica ${MASTER_NAME} 127.0.0.1 ${port}`),
      ...known
        .filter(({ id }) => id !== self.id)
        .map(({ id, port }) => `sentinel known-sentinel ${MASTER_NAME} 127.0.0.1 ${port} ${id}`),
      '',
    ].join('\n');
  return startAll(
    known.map((self) => {
      let isWritten = false;
      const prepare = async ({ directory }: { directory: string }): Promise<string[]> => {
        const file = join(directory, 'sentinel.conf'); // which the sentinel then keeps up to date itself
        if (!isWritten) await writeFile(file, configurationOf(self));
        isWritten = true;
        return [file, '--sentinel'];
      };
      return RedisServer.launch({ binary, port: self.port, password, args: [], prepare, afterStart: hurry });
    }),
  );
}
