import { until } from '@mortise/server-process';

import { findRedisServer, type RedisBinary } from './binary.js';
import { seedFor, writeSeed } from './cluster-seed.js';
import { RedisServer, type LaunchOptions } from './server.js';

export interface SingleOptions {
  /** Starts a cluster of one node that owns all slots, so that slot rules hold. @defaultValue false */
  isCluster?: boolean;
  /** Where log and data lie; kept at stop. @defaultValue a temporary directory, removed at stop */
  directory?: string;
  /** @defaultValue a free port */
  port?: number;
  /** Turns the append-only file on. @defaultValue no persistence */
  appendFsync?: 'always' | 'everysec' | 'no';
  /** `maxmemory`; what happens when it is full is for `args` to say (Redis' default: writes fail). @defaultValue no limit */
  maxMemoryBytes?: number;
  /** Clients must log in with it. @defaultValue none */
  password?: string;
  /** How long the server may take until it serves, ms: a large append-only file takes long. @defaultValue 30,000 */
  startMs?: number;
  /** Added to the environment of the process. @defaultValue none */
  env?: Record<string, string>;
  /** Further arguments of redis-server, such as `['--notify-keyspace-events', 'KEA']`. */
  args?: string[];
}

/** Starts one server and waits until it serves all commands: about 0.05 s. */
export async function startSingle(options: SingleOptions = {}): Promise<RedisServer> {
  const {
    isCluster = false,
    directory,
    port,
    appendFsync,
    maxMemoryBytes,
    password,
    startMs,
    env = {},
    args = [],
  } = options;
  const all = ['--save', '', '--enable-debug-command', 'local'];
  if (appendFsync !== undefined) all.push('--appendonly', 'yes', '--appendfsync', appendFsync);
  if (maxMemoryBytes !== undefined) all.push('--maxmemory', String(maxMemoryBytes));
  if (isCluster) all.push('--cluster-enabled', 'yes', '--cluster-announce-ip', '127.0.0.1');
  const found = await findRedisServer();
  const binary = { ...found, env: { ...found.env, ...env } };
  return RedisServer.launch({
    binary,
    directory,
    port,
    password,
    startMs,
    args: [...all, ...args],
    ...(isCluster && { hasBus: true, ...asWholeCluster(binary) }),
  });
}

/** Makes a cluster-enabled server a whole cluster, at each start: a master that restarts has the two seconds' delay as well. */
function asWholeCluster(binary: RedisBinary): Required<Pick<LaunchOptions, 'prepare' | 'afterStart'>> {
  const seed = seedFor([0], 1, binary);
  return {
    prepare: async ({ port, directory }) => {
      for (const self of seed.nodes) {
        self.port = port;
        await writeSeed(directory, self, seed);
      }
      return [];
    },
    afterStart: async (server) => {
      await server.command('CLUSTER', 'FAILOVER', 'TAKEOVER');
      for (const placeholder of seed.placeholders) await server.command('CLUSTER', 'FORGET', placeholder.id);
      await until(async () => String(await server.command('CLUSTER', 'INFO')).includes('cluster_state:ok'), {
        what: 'the cluster of one node to be ok',
        details: () => server.logTail(),
      });
    },
  };
}
