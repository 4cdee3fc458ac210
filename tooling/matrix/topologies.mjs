/**
 * Starts the server that REDIS_SERVER_BIN names in one of the ways that the columns of the table name. Each returns the targets that a
 * program has to work with (`smoke/connect.mjs` says what a target is), and how to stop it.
 */
import { makeCertificate, startCluster, startSentinel, startSingle } from '@mortise/redis-server';
import { startDeclaredKeysProxy } from './declared-keys-proxy.mjs';

const PASSWORD = 'secret';

/**
 * The user that a managed service gives: its own keys and channels, nothing that administers or looks into the server. That is more than
 * any one service takes away: INFO, CONFIG, CLIENT, DEBUG, KEYS, SCAN of no keys, FLUSHALL, MONITOR, WAIT for nobody.
 */
const MANAGED_USER = [
  'reset',
  'on',
  `>${PASSWORD}`,
  '~matrix-*',
  '&matrix-*',
  '+@all',
  '-@admin',
  '-@dangerous',
];
const REFUSED = [
  'acl',
  'client',
  'config',
  'debug',
  'info',
  'keys',
  'latency',
  'memory',
  'module',
  'monitor',
  'slowlog',
];

const at = ({ host, port }) => ({ host, port });

async function addManagedUser(server) {
  const rules = [...MANAGED_USER, ...REFUSED.map((name) => `-${name}`)];
  await server.command('ACL', 'SETUSER', 'app', ...rules);
  for (const command of [['CONFIG', 'GET', 'maxmemory'], ['CLIENT', 'LIST'], ['INFO']]) {
    const verdict = String(await server.command('ACL', 'DRYRUN', 'app', ...command));
    if (!verdict.includes('no permissions'))
      throw new Error(`the managed user may call ${command.join(' ')}`);
  }
}

const START = {
  async single() {
    const servers = await Promise.all([startSingle(), startSingle(), startSingle()]);
    const [first, ...others] = servers.map(at);
    return {
      targets: [{ kind: 'single', options: first, others }],
      stop: () => Promise.all(servers.map((server) => server.stop())),
    };
  },

  async Sentinel() {
    const group = await startSentinel();
    const options = { name: group.name, sentinels: group.sentinels };
    return { targets: [{ kind: 'single', options }], stop: () => group.stop() };
  },

  async Cluster() {
    const cluster = await startCluster();
    return { targets: [{ kind: 'cluster', nodes: cluster.startupNodes }], stop: () => cluster.stop() };
  },

  async managed() {
    const [server, cluster] = await Promise.all([startSingle(), startCluster({ replicasPerMaster: 0 })]);
    await Promise.all([server, ...cluster.nodes].map(addManagedUser));
    const user = { username: 'app', password: PASSWORD };
    return {
      targets: [
        { kind: 'single', options: { ...at(server), ...user }, mayTrack: false },
        { kind: 'cluster', nodes: cluster.startupNodes, options: user },
      ],
      stop: () => Promise.all([server.stop(), cluster.stop()]),
    };
  },

  async TLS() {
    const { tlsArgs, caFile, port, remove } = await makeCertificate();
    const server = await startSingle({ args: tlsArgs });
    return {
      targets: [{ kind: 'single', options: { host: server.host, port }, caFile }],
      stop: async () => {
        await server.stop();
        remove();
      },
    };
  },

  async 'declared keys'() {
    const server = await startSingle();
    const proxy = await startDeclaredKeysProxy(server);
    return {
      targets: [{ kind: 'single', options: at(proxy), mayBuildKeys: false }],
      check: () => proxy.problems(),
      stop: async () => {
        proxy.stop();
        await server.stop();
      },
    };
  },
};

export function startTopology(name) {
  return START[name]();
}
