/**
 * The Redis client that Mortise works with. The type is structural: `Redis` and `Cluster` of ioredis 5.4 and later and of
 * ioredis 6 fit, from any installed copy of ioredis. `fromNodeRedis` makes one of a client of node-redis.
 */

import { ArgumentTypeError } from './argument-error.js';

/** An argument of a command: text, bytes or a number. */
export type CommandArgument = string | Buffer | number;

/** One connection, or a cluster of them. */
export interface RedisConnection {
  readonly status: string;
  readonly isCluster: boolean;
  call(command: string, args: CommandArgument[]): Promise<unknown>;
  callBuffer(command: string, args: CommandArgument[]): Promise<unknown>;
  // oxlint-disable-next-line typescript/no-explicit-any -- the signature of EventEmitter
  on(event: string, listener: (...args: any[]) => void): unknown;
  // oxlint-disable-next-line typescript/no-explicit-any -- the signature of EventEmitter
  off(event: string, listener: (...args: any[]) => void): unknown;
  disconnect(reconnect?: boolean): void;
}

/**
 * An ioredis client, `Redis` or `Cluster`, major 5 (from 5.4) or 6, or `fromNodeRedis(client)`. Mortise uses the client as it
 * is and never closes it.
 */
export interface RedisClient extends RedisConnection {
  readonly options: object;
  // oxlint-disable-next-line typescript/no-explicit-any -- Redis and Cluster take different arguments
  duplicate(...args: any[]): RedisConnection;
}

/** Options of ioredis that change the meaning of commands. `Redis` and `Cluster` keep them in different places. */
interface ForeignOptions {
  keyPrefix?: string;
  replyMapping?: string;
  stringNumbers?: boolean;
  redisOptions?: ForeignOptions;
}

const checked = new WeakSet<object>();

/**
 * Returns the client if Mortise can work with it. Throws TypeError for a value that is not an ioredis client, and for three
 * options: `keyPrefix` (it prefixes keys but not channels; the packages have an option `prefix`), `replyMapping: 'resp3'`
 * and `stringNumbers` (they change the shapes of replies). Sends nothing.
 */
export function checkClient(client: RedisClient): RedisClient {
  if (checked.has(client)) return client;
  if (typeof client?.call !== 'function' || typeof client.duplicate !== 'function') {
    throw new ArgumentTypeError(
      'redis must be a Redis or Cluster instance of ioredis 5.4 or later, or fromNodeRedis(client)',
    );
  }
  const options = client.options as ForeignOptions;
  const inner = options.redisOptions ?? {};
  const keyPrefix = options.keyPrefix || inner.keyPrefix;
  if (keyPrefix) {
    const got = JSON.stringify(keyPrefix);
    throw new ArgumentTypeError(
      `the ioredis option keyPrefix (${got}) is not supported: use the option prefix of this package`,
    );
  }
  if (options.replyMapping === 'resp3' || inner.replyMapping === 'resp3') {
    throw new ArgumentTypeError("the ioredis option replyMapping: 'resp3' is not supported: use 'legacy'");
  }
  if (options.stringNumbers || inner.stringNumbers) {
    throw new ArgumentTypeError(
      'the ioredis option stringNumbers is not supported: scripts reply with numbers',
    );
  }
  checked.add(client);
  return client;
}
