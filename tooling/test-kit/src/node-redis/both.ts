/**
 * A client of ioredis and one of node-redis as one: the commands of the packages (`call`, `pipeline().call`, subscriptions, duplicates,
 * status and events) go through `fromNodeRedis`. Other calls, such as `redis.hgetall(key)` in a test, go over
 * the connection of ioredis to the same servers.
 */
import type * as ioredis from 'ioredis/built/index.js';
import type { ClusterOptions, RedisOptions } from 'ioredis/built/index.js';
import { socketOf, trackSocket } from './socket-of.js';
// By its path: the tests of that package import this one.
import { fromNodeRedis } from '../../../../packages/redis/src/node-redis/index.js';

type Adapter = ReturnType<typeof fromNodeRedis>;
type Member = (...args: unknown[]) => unknown;

interface Opened {
  readonly adapter: Adapter;
  readonly open: () => Promise<unknown>;
  readonly close: () => Promise<unknown>;
  readonly client: object;
}

/** The members that come from the adapter. */
const ADAPTED = new Set<PropertyKey>([
  'duplicate',
  'isCluster',
  'refreshSlotsCache',
  'slots',
  'status',
  'emit',
  'listeners',
  'listenerCount',
  'setMaxListeners',
]);
/** Members of ioredis that node-redis lacks. */
const ABSENT = new Set<PropertyKey>(['condition', 'manuallyClosing', 'createBuiltinCommand']);

/** `redis` or `@redis/client` of any major. */
export interface NodeRedis {
  readonly createClient: (this: void, options: object) => unknown;
  readonly createCluster: (this: void, options: object) => unknown;
}

function optionsOf(options: RedisOptions, protocol: number | undefined): object {
  const { host, port, path, username, password, db, connectionName, retryStrategy, connectTimeout, tls } =
    options;
  const strategy = retryStrategy;
  return {
    socket: {
      ...(path ? { path } : { host: host ?? '127.0.0.1', port: port ?? 6379 }),
      ...(tls && { tls: true, ...tls }),
      connectTimeout,
      ...(strategy && {
        reconnectStrategy: (retries: number) => strategy(retries + 1) ?? false,
      }),
      ...(strategy === null && { reconnectStrategy: false }),
    },
    ...(username && { username }),
    ...(password && { password }),
    ...(db && { database: db }),
    ...(connectionName && { name: connectionName }),
    ...(protocol && { RESP: protocol }),
    disableOfflineQueue: options.enableOfflineQueue === false,
  };
}

/** Both clients as one. */
function both<Client extends ioredis.Redis | ioredis.Cluster>(
  own: Client,
  { adapter, open, close, client }: Opened,
): Client {
  own.on('error', () => undefined);
  const end = async (finish: () => Promise<unknown>): Promise<unknown> => {
    const [reply] = await Promise.all([finish(), close()]);
    if (own.status !== 'end') await new Promise((resolve) => own.once('end', resolve));
    return reply;
  };
  const options = { ...own.options, enableAutoPipelining: false, ...defined(adapter.options) };
  const call =
    (method: 'call' | 'callBuffer'): Member =>
    (command, ...args) => {
      // A client of ioredis with `lazyConnect` connects with its first command.
      if (adapter.status === 'wait') open().catch(() => undefined);
      const { commandTimeout } = own.options as RedisOptions;
      return limited(adapter[method](command as string, args.flat() as never[]), commandTimeout);
    };
  // The packages subscribe on duplicates, tests on the client of ioredis.
  const listen =
    (method: 'on' | 'off' | 'once' | 'removeListener' | 'addListener'): Member =>
    (event, listener) => {
      const source = /message/i.test(String(event)) ? own : (adapter as unknown as typeof own);
      return (source[method] as Member).call(source, event, listener);
    };
  const nodes = new WeakMap<object, object>();
  const members: Record<PropertyKey, Member> = {
    on: listen('on'),
    off: listen('off'),
    once: listen('once'),
    addListener: listen('addListener'),
    removeListener: listen('removeListener'),
    nodes: () =>
      (adapter as unknown as ioredis.Cluster)
        .nodes()
        .map((node) => bothNodes(node, own as ioredis.Cluster, nodes)),
    call: call('call'),
    // About this connection, and when it is up.
    client: (...args) => call('call')('client', ...args),
    echo: (text) => call('call')('echo', text),
    ping: () => Promise.all([call('call')('ping'), own.ping()]).then(([reply]) => reply),
    callBuffer: call('callBuffer'),
    connect: () =>
      Promise.all([own.status === 'wait' || own.status === 'end' ? own.connect() : undefined, open()]),
    quit: () => end(() => own.quit()),
    disconnect: (reconnect) => {
      if (own.status !== 'end') own.disconnect(reconnect === true);
      adapter.disconnect(reconnect === true);
    },
    pipeline: (commands) => pipelines(own, adapter, open, commands),
  };
  return new Proxy(own, {
    get(target, name) {
      if (ABSENT.has(name)) return undefined;
      if (name === 'options') return options;
      if (name === 'stream') return socketOf(client);
      // Replaced by a spy.
      if (Object.hasOwn(target, name) && typeof Reflect.get(target, name) === 'function')
        return Reflect.get(target, name) as unknown;
      if (Object.hasOwn(members, name)) return members[name];
      const source: object = ADAPTED.has(name) ? adapter : target;
      const value = Reflect.get(source, name) as unknown;
      return typeof value === 'function' ? (value as Member).bind(source) : value;
    },
  });
}

/** A node of the adapter, with the methods of ioredis for tests. The same object each time. */
function bothNodes(node: ioredis.Redis, own: ioredis.Cluster, known: WeakMap<object, object>): object {
  const found = known.get(node);
  if (found) return found;
  const made = new Proxy(node, {
    get(target, name) {
      const isAdapted = name in target;
      const { host, port } = node.options;
      const source: object | undefined = isAdapted
        ? target
        : own.nodes().find(({ options }) => options.host === host && options.port === port);
      const value = source && (Reflect.get(source, name) as unknown);
      return typeof value === 'function' ? (value as Member).bind(source) : value;
    },
  });
  known.set(node, made);
  return made;
}

/** As `commandTimeout` of ioredis, which node-redis lacks. */
async function limited(reply: Promise<unknown>, limitMs: number | undefined): Promise<unknown> {
  if (limitMs === undefined) return reply;
  reply.catch(() => undefined);
  let timer: NodeJS.Timeout | undefined;
  const timedOut = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error('Command timed out')), limitMs);
  });
  return Promise.race([reply, timedOut]).finally(() => clearTimeout(timer));
}

function defined(options: object): object {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
}

/** `call` fills a pipeline of the adapter, anything else one of ioredis. */
function pipelines(
  own: ioredis.Redis | ioredis.Cluster,
  adapter: Adapter,
  open: () => Promise<unknown>,
  commands: unknown,
): unknown {
  const adapted = adapter as Adapter & { pipeline?(): object };
  if (!adapted.pipeline) return own.pipeline(commands as never);
  let pipeline: object | undefined;
  return new Proxy(
    {},
    {
      get(target, name) {
        // Replaced by a test.
        if (Object.hasOwn(target, name)) return Reflect.get(target, name) as unknown;
        if (name === 'call' && adapter.status === 'wait') open().catch(() => undefined);
        pipeline ??= name === 'call' ? adapted.pipeline!() : own.pipeline(commands as never);
        const value = Reflect.get(pipeline, name) as unknown;
        return typeof value === 'function' ? (value as Member).bind(pipeline) : value;
      },
    },
  );
}

interface NodeClient {
  on(event: string, listener: () => void): unknown;
  readonly isOpen: boolean;
  connect(): Promise<unknown>;
  close(): Promise<unknown>;
}

function opened(client: NodeClient, isLazy: boolean): Opened {
  const adapter = fromNodeRedis(client as never);
  const open = async (): Promise<void> => {
    if (!client.isOpen) await trackSocket(client, () => client.connect());
  };
  if (!isLazy) open().catch(() => undefined);
  return { client, adapter, open, close: async () => client.isOpen && client.close() };
}

/** The client with one of node-redis to the same server. @param protocol Undefined: the default of this major. */
export function withNodeRedis(
  own: ioredis.Redis,
  { createClient }: NodeRedis,
  protocol?: number,
): ioredis.Redis {
  const client = createClient(optionsOf(own.options, protocol)) as NodeClient;
  return both(own, opened(client, own.options.lazyConnect === true));
}

/** The same for Redis Cluster. */
export function withNodeRedisCluster(
  own: ioredis.Cluster,
  { createCluster }: NodeRedis,
  nodes: readonly { host?: string; port?: number }[],
  options: ClusterOptions,
  protocol?: number,
): ioredis.Cluster {
  const defaults = optionsOf(options.redisOptions ?? {}, protocol);
  const cluster = createCluster({
    rootNodes: nodes.map(({ host = '127.0.0.1', port = 6379 }) => ({ socket: { host, port } })),
    ...(protocol && { RESP: protocol }),
    defaults: { ...defaults, socket: { reconnectStrategy: () => 20 } },
  }) as NodeClient;
  return both(own, opened(cluster, options.lazyConnect === true));
}
