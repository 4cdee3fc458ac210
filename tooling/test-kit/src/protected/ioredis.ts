/**
 * Takes the place of ioredis in tests with MORTISE_PROTECTED: a `Redis` for the URL of the test run becomes a client of the protected servers,
 * a `Cluster` or one with sentinels, as the user of the packages. Clients of other servers stay as they are.
 */
import type { ClusterOptions, RedisOptions } from 'ioredis/built/index.js';
import * as ioredis from 'ioredis/built/index.js';
import { administer } from './admin.js';
import type { ProtectedServers } from './servers.js';
import { PROTECTED, protectedServers } from './servers.js';

export { Cluster, Command, Pipeline, ReplyError, ScanStream, print } from 'ioredis/built/index.js';

type Client = ioredis.Redis | ioredis.Cluster;
type Method = (...args: (string | number)[]) => unknown;

/** Refused by the rights of the packages. */
const ADMINISTRATIVE = [
  'acl',
  'config',
  'debug',
  'flushall',
  'flushdb',
  'keys',
  'latency',
  'restore',
  'slowlog',
];
/** Answered by each node for itself. */
const OF_A_NODE = ['dbsize', 'pubsub', 'script'];
/** Those about the connection itself. The others are administrative. */
const OWN_CLIENT = /^(?:caching|getname|getredir|id|info|no-evict|no-touch|reply|setinfo|setname|tracking)/i;

export const Redis = new Proxy(ioredis.Redis, {
  construct: (target, args: unknown[], newTarget) => {
    const servers = protectedServers;
    // Never connects.
    const { options } = new target({ lazyConnect: true }, ...(args as []));
    const isOurs = servers?.masters.some(
      ({ host, port }) => !options.sentinels && host === options.host && port === options.port,
    );
    if (!servers || !isOurs) return Reflect.construct(target, args, newTarget) as object;
    const { lazyConnect: _, ...given } = Object.assign({}, ...args.filter(isOptions)) as RedisOptions;
    const { username, password } = options.username ? options : servers.user;
    const lazyConnect = args.some((arg) => isOptions(arg) && arg.lazyConnect === true);
    const login = { ...given, username: username!, password: password! };
    const client = servers.sentinel
      ? connectSentinel({ ...login, lazyConnect }, servers.sentinel)
      : connectCluster({ ...login, lazyConnect }, servers);
    return administered(client, servers);
  },
});

export default Redis;

function isOptions(arg: unknown): arg is RedisOptions {
  return typeof arg === 'object' && arg !== null;
}

function connectSentinel(
  options: RedisOptions,
  { name, sentinels, sentinelPassword }: NonNullable<ProtectedServers['sentinel']>,
): Client {
  const { host: _, port: __, ...rest } = options;
  return new ioredis.Redis({
    ...rest,
    name,
    sentinels: sentinels.map(({ host, port }) => ({ host, port })),
    sentinelPassword,
    sentinelRetryStrategy: () => 20,
  } as object);
}

/** The options of a `Redis` that a `Cluster` has too, beside those that it passes to its nodes. */
function connectCluster(options: RedisOptions, { masters, isTls }: ProtectedServers): Client {
  const { host: _, port: __, lazyConnect, retryStrategy, enableOfflineQueue, ...redisOptions } = options;
  const clusterOptions: ClusterOptions = {
    lazyConnect: lazyConnect === true,
    clusterRetryStrategy: (times) => retryStrategy?.(times) ?? (retryStrategy === undefined ? 20 : null),
    ...(enableOfflineQueue !== undefined && { enableOfflineQueue }),
    ...(options.enableAutoPipelining && { enableAutoPipelining: true }),
    redisOptions: { ...redisOptions, ...(isTls && { tls: {} }) },
  };
  return new ioredis.Cluster(
    masters.map(({ host, port }) => ({ host, port })),
    clusterOptions as object,
  );
}

/** A client, and its duplicates, whose administrative methods use connections of their own. `call` is always the user's. */
function administered(client: Client, servers: ProtectedServers): Client {
  const methods = client as unknown as Record<string, Method>;
  const isCluster = !servers.sentinel;
  const own = {
    client: methods['client']!.bind(client),
    duplicate: methods['duplicate']!.bind(client),
  };
  for (const name of [...ADMINISTRATIVE, ...(isCluster ? OF_A_NODE : [])]) {
    methods[name] = (...args) => administer(servers, name, args);
    methods[`${name}Buffer`] = (...args) => administer(servers, name, args, 'callBuffer');
  }
  methods['client'] = (...args) =>
    OWN_CLIENT.test(String(args[0])) ? own.client(...args) : administer(servers, 'client', args);
  methods['duplicate'] = (...args) => {
    const [override] = args;
    const isOfRedis = isCluster && args.length === 1 && !Array.isArray(override);
    const given = isOfRedis ? [[], { redisOptions: override }] : args;
    return administered(own.duplicate(...(given as never[])) as Client, servers);
  };
  if (isCluster) {
    asRedis(client as ioredis.Cluster, own.duplicate);
    const pages = async function* ({ match = '*' }: { match?: string } = {}): AsyncIterable<unknown> {
      yield await administer(servers, 'keys', [match]);
    };
    Object.assign(client, { scanStream: pages });
  }
  return Object.assign(client, { [PROTECTED]: true });
}

/**
 * Gives a `Cluster` what a test expects of a `Redis`. The packages use sharded channels there, and options of `duplicate` are those of a
 * connection.
 */
function asRedis(cluster: ioredis.Cluster, duplicate: Method): void {
  const methods = cluster as unknown as Record<string, (...args: never[]) => unknown>;
  let subscriber: ioredis.Cluster | undefined;
  const listening = (): ioredis.Cluster => {
    if (subscriber) return subscriber;
    const made = duplicate([] as never, { shardedSubscribers: true } as never) as ioredis.Cluster;
    made.on('error', () => undefined);
    made.on('smessage', (channel, message) => cluster.emit('message', channel, message));
    cluster.once('end', () => made.disconnect());
    subscriber = made;
    return made;
  };
  methods['publish'] = (channel: string, message: string) => cluster.spublish(channel, message);
  methods['subscribe'] = (...channels: string[]) =>
    Promise.all(channels.map((channel) => listening().ssubscribe(channel)));
}
