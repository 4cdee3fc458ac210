import { readFileSync } from 'node:fs';

/**
 * Clients of what MATRIX_TARGET describes: `{ kind, options | nodes, caFile, … }`, of the library that the project has. `others` are the
 * options of further masters, where the cell has such. `mayTrack` is false for a user that may not call CLIENT, `mayBuildKeys` for a
 * server that has to know all keys of a script in advance.
 */
export async function connections() {
  const target = JSON.parse(process.env.MATRIX_TARGET ?? '{"kind":"single","options":{"port":6379}}');
  const make = await (target.library === 'node-redis' ? nodeRedis() : ioredis(target));
  const closings = [];
  const connect = async (more = {}) => {
    const { client, close } = await make({ ...target.options, ...more });
    closings.push(close);
    return client;
  };
  const { others = [], mayTrack = true, mayBuildKeys = true } = target;
  const close = () => Promise.all(closings.map((each) => each()));
  return { connect, others, mayTrack, mayBuildKeys, close };
}

async function ioredis({ kind, nodes, caFile }) {
  const { Cluster, Redis } = await import('ioredis');
  const tls = caFile === undefined ? {} : { tls: { ca: readFileSync(caFile) } };
  return (options) => {
    const all = { ...options, ...tls };
    const client = kind === 'cluster' ? new Cluster(nodes, { redisOptions: all }) : new Redis(all);
    return { client, close: () => client.quit() };
  };
}

/** Of a single node. */
async function nodeRedis() {
  const { createClient } = await import('@redis/client');
  const { fromNodeRedis } = await import('@mortise/redis/node-redis');
  return async ({ host, port }) => {
    const client = createClient({ socket: { host, port } });
    await client.connect();
    return { client: fromNodeRedis(client), close: () => client.close() };
  };
}
