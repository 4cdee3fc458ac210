// A process with a change feed, which says when it reads. It doesn't load the changed rows.
import { ChangeFeed, RowCache } from '@mortise/cache/rows';
import { PostgresSource } from '@mortise/cache/postgres';
import { SqliteSource } from '@mortise/cache/sqlite';
import { Redis } from 'ioredis';

const { url, prefix, source, leaseMs } = JSON.parse(process.argv[2]);
const rowsOf = source.path ? new SqliteSource(source) : new PostgresSource(source);
const redis = new Redis(url);
const rows = new RowCache(redis, 'items', { prefix, load: rowsOf.load });
const feed = new ChangeFeed(redis, rowsOf, rows, { leaseMs });
await feed.start();
process.on('message', () => process.send(feed.stats()));
process.send('started');
