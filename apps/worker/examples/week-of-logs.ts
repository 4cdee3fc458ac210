/** A week of access logs, plain and gzip, goes to three workers, who share it; then the daily table of countries is printed. */
import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { DailyAggregates } from '@mortise/messaging/log-aggregation';
import { FileSender } from '@mortise/messaging/files';
import { LogCollector, parseRangeCsv } from '@mortise/messaging/log-aggregation';
import { Redis } from 'ioredis';

const DAYS = [
  '2026-11-14',
  '2026-11-15',
  '2026-11-16',
  '2026-11-17',
  '2026-11-18',
  '2026-11-19',
  '2026-11-20',
];
const RANGES = `start,end,country,region,city
192.0.2.0,192.0.2.99,US,California,Oakland
192.0.2.100,192.0.2.199,US,New York,Armonk
198.51.100.0,198.51.100.255,DE,Berlin,Berlin
2001:db8::,2001:db8::ffff,FR,Occitanie,Toulouse
`;
const ADDRESSES = ['192.0.2.7', '192.0.2.150', '198.51.100.9', '2001:db8::5', '203.0.113.1'];

/** Some thousand lines, more each day. */
function logOf(day: string, index: number): string {
  const lines = Array.from({ length: 5_000 + 500 * index }, (_, line) => {
    const time = new Date(line * 10_000).toISOString().slice(11, 19);
    return `${ADDRESSES[(line * (line % 3) + index) % 5]} ${day} ${time} GET /item/${line}\n`;
  });
  return `${lines.join('')}a line that is none\n`;
}

const redis = new Redis(process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379');
const prefix = `example:${randomUUID()}`;
const table = await parseRangeCsv(Readable.from([Buffer.from(RANGES)]));
const receivers = ['worker-0', 'worker-1', 'worker-2'];
let lines = 0;
let malformed = 0;

const workers = receivers.map((receiver, index) =>
  new LogCollector(redis, 'access-logs', receiver, table, {
    prefix,
    share: { index, of: receivers.length },
    keepMs: 36_500 * 86_400_000,
    onReport: (report) => {
      lines += report.lines;
      malformed += report.malformed;
    },
  }).collect(),
);

const sender = new FileSender(redis, 'access-logs', { receivers, prefix });
for (const [index, day] of DAYS.entries()) {
  const text = Buffer.from(logOf(day, index));
  const isOld = index < 5;
  await sender.send(Readable.from([isOld ? gzipSync(text) : text]), {
    name: `${day}.log${isOld ? '.gz' : ''}`,
  });
}
await sender.end();
await Promise.all(workers);
console.log(`${lines} lines, and ${malformed} that are none`);

const aggregates = new DailyAggregates(redis, { prefix });
for (const day of DAYS) {
  const { total, items } = await aggregates.top('country', day, { limit: 3 });
  const counts = items.map(({ country, count }) => `${country} ${count}`);
  console.log(`${day}  ${total}  ${counts.join('  ')}`);
}
await redis.quit();

// Output:
// 45500 lines, and 7 that are none
// 2026-11-14  5000  US 3000  ZZ 668  FR 666
// 2026-11-15  5500  US 3301  DE 734  FR 733
// 2026-11-16  6000  DE 2800  US 1600  ZZ 800
// 2026-11-17  6500  FR 3033  US 1732  DE 868
// 2026-11-18  7000  ZZ 3267  US 1867  FR 934
// 2026-11-19  7500  US 4500  ZZ 1000  FR 1000
// 2026-11-20  8000  US 4801  DE 1067  ZZ 1066
