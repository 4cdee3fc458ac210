/** Keeps the scheduled rows of the database fresh in Redis. */
import type { CachedTable } from '@mortise/api/row-cache';
import { ChangeFeed, maxQueriesOf, Refresher, RowCache } from '@mortise/cache/rows';
import { PostgresSource } from '@mortise/cache/postgres';
import { SqliteSource } from '@mortise/cache/sqlite';
import type { RedisClient, Telemetry } from '@mortise/redis';
import type { Logger } from 'pino';

import type { Config, Database } from '../config.js';
import { ErrorLog } from '../error-log.js';

/** The most batches of a table that this process loads at once. */
const REFRESH = { concurrency: 2 };

type Source = PostgresSource | SqliteSource;

/** The services of the cached tables; undefined without cached tables. */
export function rowRefresherOf(
  redis: RedisClient,
  { cachedRows, prefix }: Config,
  log: Logger,
  telemetry: Telemetry,
): RowRefresher | undefined {
  if (cachedRows === undefined) return undefined;
  const { database, tables, isOutboxRead } = cachedRows;
  const errors = new ErrorLog(log);
  const onError = (error: unknown): void => errors.add(error);
  const cached = tables.map((table) => {
    const source = sourceOf(database, table);
    return { source, rows: new RowCache(redis, table.name, { prefix, telemetry, load: source.load }) };
  });
  const refresher = new Refresher(
    redis,
    cached.map(({ rows }) => rows),
    { ...REFRESH, telemetry, onError },
  );
  const feeds = isOutboxRead
    ? cached.map(({ source, rows }) => new ChangeFeed(redis, source, rows, { telemetry, onError }))
    : [];
  return new RowRefresher(
    refresher,
    feeds,
    cached.map(({ source }) => source),
  );
}

/** The refresher of all tables, the readers of their outboxes, and their connections. */
export class RowRefresher {
  constructor(
    private readonly refresher: Refresher,
    private readonly feeds: readonly ChangeFeed[],
    private readonly sources: readonly Source[],
  ) {}

  /** Starts without the database too: stale rows are served until it is back. */
  async start(): Promise<void> {
    await this.refresher.start();
    await Promise.all(this.feeds.map((feed) => feed.start()));
  }

  /** Claims nothing more, stores the claimed rows, and closes the connections. */
  async stop(): Promise<void> {
    await Promise.all([this.refresher.stop(), ...this.feeds.map((feed) => feed.stop())]);
    await Promise.all(this.sources.map((source) => source.close()));
  }
}

function sourceOf(database: Database, { name, id }: CachedTable): Source {
  if (database.type === 'sqlite') return new SqliteSource({ path: database.path, table: name, id });
  const [table = '', schema] = name.split('.', 2).toReversed();
  return new PostgresSource({
    url: database.url,
    table,
    ...(schema !== undefined && { schema }),
    id,
    maxConnections: maxQueriesOf(REFRESH),
  });
}
