/**
 * Takes the place of ioredis in tests with MORTISE_CLIENT=node-redis: its `Redis` and `Cluster` with node-redis under the packages.
 * Clients behind Sentinel stay those of ioredis.
 */
import * as nodeRedis from '@redis/client';
import * as ioredis from 'ioredis/built/index.js';
import type { ClusterOptions } from 'ioredis/built/index.js';
import type { NodeRedis } from './both.js';
import { withNodeRedis, withNodeRedisCluster } from './both.js';

export { Command, Pipeline, ReplyError, ScanStream, print } from 'ioredis/built/index.js';

const library = nodeRedis as unknown as NodeRedis;
const protocol = Number(process.env['MORTISE_CLIENT_PROTOCOL'] ?? 2);

export class Redis extends ioredis.Redis {
  constructor(...args: unknown[]) {
    super(...(args as []));
    return this.options.sentinels ? this : withNodeRedis(this, library, protocol);
  }
}

export class Cluster extends ioredis.Cluster {
  constructor(nodes: { host?: string; port?: number }[], options: ClusterOptions = {}) {
    super(nodes, options as object);
    return withNodeRedisCluster(this, library, nodes, options, protocol);
  }
}

export default Redis;
