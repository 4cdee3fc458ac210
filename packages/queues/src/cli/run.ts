/** Runs one command over a Redis connection of its own. */
import type { RedisClient } from '@mortise/redis';
import { CodedError, withoutLink } from '@mortise/redis';
import { Cluster, Redis } from 'ioredis';
import { COMMANDS } from './commands.js';
import { plain } from './text.js';
import { help, parse, UsageError } from './usage.js';
import { readFileSync } from 'node:fs';

export interface Surroundings {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
}

const DEFAULT_URL = 'redis://127.0.0.1:6379';
const CONNECT_MS = 5_000;
const TRIES = 3;

/** Resolves to the exit code: 0, 1 when something was refused or does not exist, 2 for wrong arguments. */
export async function run(argv: readonly string[], { env, out, err }: Surroundings): Promise<0 | 1 | 2> {
  let isJson = argv.includes('--json');
  const complain = (text: string): void => err(`mortise-queues: ${plain(text)}\n`);
  const clients: Client[] = [];
  try {
    const { command, names, values } = parse(argv);
    isJson = values.json ?? false;
    if (values.version) out(`${version()}\n`);
    else if (values.help) out(help(command));
    else if (command === undefined) throw new UsageError('a command is missing; --help lists them');
    else {
      const open = (url: string, isCluster: boolean): RedisClient => {
        const client = connect(url, isCluster);
        clients.push(client);
        return client.redis;
      };
      const { prefix } = values;
      return await COMMANDS[command]({
        command,
        names,
        values,
        redis: open(values.redis ?? env['REDIS_URL'] ?? DEFAULT_URL, values.cluster ?? false),
        connect: open,
        prefix: prefix === undefined ? {} : { prefix },
        print: (value, text) => out(isJson ? `${JSON.stringify(value, undefined, 2)}\n` : text),
        complain,
      });
    }
    return 0;
  } catch (error) {
    const isUsage = [UsageError, TypeError, RangeError, URIError].some((type) => error instanceof type);
    const code = error instanceof CodedError ? ` (${error.code})` : '';
    // The code stands after it.
    const message = withoutLink((error as Error).message);
    const hint = message.startsWith('MOVED ') ? ': this is a Redis Cluster, use --cluster' : '';
    const reason = clients.map((client) => client.reason()).find((text) => text !== undefined);
    complain(`${reason ?? message}${code}${hint}`);
    return isUsage ? 2 : 1;
  } finally {
    for (const client of clients) client.close();
  }
}

interface Client {
  readonly redis: RedisClient;
  /** The error that prevented a connection, if any. */
  reason(): string | undefined;
  close(): void;
}

/** Gives up after a few seconds, since somebody waits at a terminal. */
function connect(url: string, isCluster: boolean): Client {
  const { host, port, username, password, tls, db } = addressOf(url);
  const limits = { connectTimeout: CONNECT_MS, maxRetriesPerRequest: TRIES };
  const login = { ...(username && { username }), ...(password && { password }), ...(tls && { tls: {} }) };
  const retry = (times: number): number | null => (times >= TRIES ? null : 100 * times);
  const redis = isCluster
    ? new Cluster([{ host, port }], { redisOptions: { ...limits, ...login }, clusterRetryStrategy: retry })
    : new Redis({ host, port, db, ...limits, ...login, retryStrategy: retry });
  let failure: Error | undefined;
  redis.on('error', (error: Error) => {
    failure = error;
  });
  redis.on('ready', () => {
    failure = undefined;
  });
  return {
    redis,
    reason: () => failure && `no connection to ${host}:${port}: ${messageOf(failure)}`,
    close: () => redis.status !== 'end' && redis.disconnect(),
  };
}

/** Connecting to several addresses, as for `localhost`, fails with an `AggregateError` without a message. */
function messageOf(error: Error): string {
  return error.message || (error as NodeJS.ErrnoException).code || error.name;
}

function addressOf(text: string): {
  host: string;
  port: number;
  username: string;
  password: string;
  tls: boolean;
  db: number;
} {
  if (!URL.canParse(text)) throw new UsageError('--redis must be such as redis://user:password@host:6379/0');
  const url = new URL(text);
  const path = url.pathname.replace(/^\//, '');
  if (!['redis:', 'rediss:'].includes(url.protocol) || url.hostname === '' || !/^\d{0,4}$/.test(path)) {
    throw new UsageError('--redis must be such as redis://user:password@host:6379/0');
  }
  return {
    host: url.hostname.replace(/^\[(.*)\]$/, '$1'),
    port: Number(url.port || 6379),
    username: decodeURIComponent(url.username),
    password: decodeURIComponent(url.password),
    tls: url.protocol === 'rediss:',
    db: Number(path || 0),
  };
}

function version(): string {
  const file = new URL('../../package.json', import.meta.url);
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
}
