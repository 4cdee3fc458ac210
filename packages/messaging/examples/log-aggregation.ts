/** Lines of an access log are counted by day and country. */
import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import { FileSender } from '@mortise/messaging/files';
import { DailyAggregates, LogCollector, parseRangeCsv } from '@mortise/messaging/log-aggregation';
import { Redis } from 'ioredis';

const redis = new Redis(process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379');
const prefix = `example-${randomUUID()}`;
const today = new Date().toISOString().slice(0, 10);
const log = [
  `192.0.2.7 ${today} 19:50:46 GET /`,
  `192.0.2.9 ${today} 19:50:47 GET /about`,
  `198.51.100.1 ${today} 19:50:48 POST /login`,
  'no access log',
  '',
].join('\n');

// The id makes sending twice safe.
const sender = new FileSender(redis, 'access-logs', { receivers: ['worker-1'], prefix });
await sender.send(Readable.from([log]), { name: 'access.log', id: `web-1-${today}` });
await sender.end();

// `readRangeTable(path)` reads a MaxMind database, or such a CSV.
const table = await parseRangeCsv(
  Readable.from([Buffer.from('192.0.2.0,192.0.2.255,FR,Brittany,Brest\n198.51.100.0,198.51.100.255,JP,,\n')]),
);
const collector = new LogCollector(redis, 'access-logs', 'worker-1', table, {
  prefix,
  onReport: ({ lines, malformed }) => console.log(lines, 'lines,', malformed, 'malformed'),
});
// Until the channel ends; a service calls `start()` and `stop()`.
await collector.collect();

// Anywhere, at any time:
const { total, items } = await new DailyAggregates(redis, { prefix }).top('country', today, { limit: 5 });
console.log(total, items);
await redis.quit();

// Output:
// 3 lines, 1 malformed
// 3 [ { country: 'FR', count: 2 }, { country: 'JP', count: 1 } ]
