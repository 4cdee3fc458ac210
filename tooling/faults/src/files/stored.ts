/** The keys of a run, and the keys that may be left when a channel has ended and all receivers are done with its files. */
import { promisify } from 'node:util';
import { Cluster, type Redis } from 'ioredis';
import { MARKER_MS } from './config.js';

interface Documented {
  readonly key: RegExp;
  readonly type: string;
  /** At most. */
  readonly ttlMs: number;
}

const MINUTE_MS = 60_000;
const RETENTION_MS = 400 * 86_400_000;
const DAY = String.raw`:aggregates:\{daily:\d{4}-\d\d-\d\d\}:`;

/** After packages/messaging/src/files/keys.ts and src/log-aggregation/keys.ts. */
const DOCUMENTED: readonly Documented[] = [
  // The head says that the channel has ended; the others have the ids of its files.
  { key: /:messaging:\{logs\}:file-channel$/, type: 'hash', ttlMs: MINUTE_MS },
  { key: /:messaging:\{logs\}:files$/, type: 'zset', ttlMs: MINUTE_MS },
  { key: /:messaging:\{logs\}:files-sent$/, type: 'hash', ttlMs: MINUTE_MS },
  // The results.
  { key: new RegExp(`${DAY}(?:country|region|city)$`), type: 'zset', ttlMs: RETENTION_MS },
  { key: new RegExp(`${DAY}total$`), type: 'string', ttlMs: RETENTION_MS },
];

/** Masters may lose different moments, and with them the note that marks have to be removed; then the marks expire. */
const FORGOTTEN: readonly Documented[] = [
  { key: new RegExp(`${DAY}files$`), type: 'hash', ttlMs: MARKER_MS },
  { key: /:aggregates:\{file:[^}]*\}:days$/, type: 'set', ttlMs: MARKER_MS },
  { key: /:aggregates:\{done\}:files$/, type: 'zset', ttlMs: MARKER_MS },
];

/** The keys of all masters. */
export async function keysOf(redis: Redis | Cluster, pattern: string): Promise<string[]> {
  if (!(redis instanceof Cluster)) return redis.keys(pattern);
  // The client learns of a replaced master when it refreshes.
  await promisify((done: (error?: Error | null) => void) => redis.refreshSlotsCache(done))();
  const keys = await Promise.all(redis.nodes('master').map((node) => node.keys(pattern)));
  return keys.flat();
}

/** The keys that should not be there, or have another type or expiry. */
export async function leftoversOf(
  redis: Redis | Cluster,
  prefix: string,
  hasForgotten: boolean,
): Promise<string[]> {
  const allowed = hasForgotten ? [...DOCUMENTED, ...FORGOTTEN] : DOCUMENTED;
  const wrong: string[] = [];
  for (const key of (await keysOf(redis, `${prefix}:*`)).toSorted()) {
    const [type, ttlMs] = await Promise.all([redis.type(key), redis.pttl(key)]);
    const documented = allowed.find((one) => one.key.test(key));
    // It has expired meanwhile.
    if (type === 'none') continue;
    if (!documented || documented.type !== type || ttlMs < 0 || ttlMs > documented.ttlMs) {
      wrong.push(`${key}: ${type}, ${ttlMs} ms`);
    }
  }
  return wrong;
}

/** The channel and its files, for the message of a run that stalls. */
export async function describeStored(redis: Redis | Cluster, prefix: string): Promise<string> {
  const keys = (await keysOf(redis, `${prefix}:messaging:*`)).filter((key) => !key.includes(':chunk:'));
  const described = keys.toSorted().map(async (key) => {
    const type = await redis.type(key);
    const content =
      type === 'hash'
        ? await redis.hgetall(key)
        : type === 'zset'
          ? await redis.zrange(key, '-20', '-1', 'WITHSCORES')
          : await redis.smembers(key);
    return `${key.slice(prefix.length)} ${JSON.stringify(content)}`;
  });
  return (await Promise.all(described)).join('\n');
}
