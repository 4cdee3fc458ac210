// npm run redis -- up|cluster|sentinel: real servers in the foreground, until Ctrl-C.

import { existsSync } from 'node:fs';
import { step } from './pnpm.mjs';

const USAGE = `usage: npm run redis -- <what>

  up         one server
  cluster    three masters with a replica each
  sentinel   a master, two replicas, three sentinels`;

/** How often the servers are checked. */
const CHECK_MS = 250;

/** Each starts servers, and returns them, what to print about them, and how to stop them. */
const COMMANDS = {
  async up({ startSingle }) {
    const server = await startSingle();
    return {
      servers: [server],
      lines: [`server     ${server.url}`, '', `new Redis('${server.url}')`],
      stop: () => server.stop(),
    };
  },

  async cluster({ startCluster }) {
    const cluster = await startCluster();
    const masters = cluster.nodes.length / 2;
    const nodes = cluster.nodes.map(
      ({ url }, index) => `${index < masters ? 'master ' : 'replica'}    ${url}`,
    );
    return {
      servers: cluster.nodes,
      lines: [...nodes, '', `new Cluster(${literal(cluster.startupNodes)})`],
      stop: () => cluster.stop(),
    };
  },

  async sentinel({ startSentinel }) {
    const sentinel = await startSentinel();
    const servers = sentinel.servers.map(
      ({ url }, index) => `${index === 0 ? 'master ' : 'replica'}    ${url}`,
    );
    const sentinels = sentinel.sentinels.map(({ host, port }) => `sentinel   redis://${host}:${port}`);
    const line = `new Redis({ name: '${sentinel.name}', sentinels: ${literal(sentinel.sentinels)} })`;
    return {
      servers: [...sentinel.servers, ...sentinel.sentinelServers],
      lines: [...servers, ...sentinels, '', line],
      stop: () => sentinel.stop(),
    };
  },
};

function literal(addresses) {
  return `[${addresses.map(({ host, port }) => `{ host: '${host}', port: ${port} }`).join(', ')}]`;
}

/** In a fresh clone it is installed and built first. */
async function load() {
  if (!existsSync(new URL('../redis-server/dist/index.js', import.meta.url))) {
    step('install dependencies', ['install', '--frozen-lockfile', '--reporter=append-only']);
    step('build', ['exec', 'turbo', 'run', 'build', '--filter=@mortise/redis-server']);
  }
  return import('../redis-server/dist/index.js');
}

async function main([name, ...rest]) {
  if (rest.length > 0 || !Object.hasOwn(COMMANDS, name ?? '')) {
    console.error(USAGE);
    process.exit(2);
  }
  let interrupt;
  const interrupted = new Promise((resolve) => {
    interrupt = resolve;
    // npm passes on the Ctrl-C that the terminal has sent, and the second one must not end it before its servers.
    process.on('SIGINT', interrupt);
    process.on('SIGTERM', interrupt);
  });
  const redis = await load();
  const { version, kind } = await redis.findRedisServer({ onProgress: (message) => console.error(message) });
  const { servers, lines, stop } = await COMMANDS[name](redis);
  console.log([...lines, '', `${kind} ${version} runs until Ctrl-C`].join('\n'));
  const running = new Set(servers);
  // The timer keeps the process alive.
  const timer = setInterval(() => {
    for (const server of running) {
      if (server.isRunning) continue;
      running.delete(server);
      console.error(`${server.url} has ended`);
    }
    if (running.size === 0) interrupt();
  }, CHECK_MS);
  await interrupted;
  clearInterval(timer);
  await stop();
  if (running.size === 0) process.exitCode = 1;
}

try {
  await main(process.argv.slice(2));
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
}
