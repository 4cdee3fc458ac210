/** Two web servers ship their logs while they grow, two workers count them, and a dashboard reads the counts. */
import { randomUUID } from 'node:crypto';
import { appendFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FileSender } from '@mortise/messaging/files';
import { DailyAggregates } from '@mortise/messaging/log-aggregation';
import { Redis } from 'ioredis';
import { startWorker } from './log-pipeline/log-worker.js';
import { shipLog } from './log-pipeline/ship-log.js';

const redis = new Redis(process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379');
const prefix = `example-${randomUUID()}`;
const directory = await mkdtemp(join(tmpdir(), 'logs-'));
const day = new Date().toISOString().slice(0, 10);

// The web servers. All senders of a channel name the same receivers.
const receivers = ['worker-0', 'worker-1'];
const rotation = new AbortController();
const shipping = ['web-1', 'web-2'].map(async (host) => {
  const path = join(directory, `${host}.log`);
  await writeFile(path, `192.0.2.7 ${day} 19:50:46 GET /\n192.0.2.9 ${day} 19:50:46 GET /\n`);
  const sender = new FileSender(redis, 'access-logs', { receivers, prefix });
  const shipped = shipLog(sender, path, { host, day, rotated: rotation.signal });
  await appendFile(path, `198.51.100.1 ${day} 19:50:47 POST /login\n`);
  const bytes = await shipped;
  // Until the workers are done with it.
  await sender.received();
  return bytes;
});

// The workers.
const ranges = join(directory, 'ranges.csv');
await writeFile(ranges, '192.0.2.0,192.0.2.255,FR,Brittany,Brest\n198.51.100.0,198.51.100.255,JP,,\n');
const workers = await Promise.all(
  [0, 1].map(async (index) => startWorker(redis, ranges, { prefix, index, of: 2 })),
);

// At midnight the logs are rotated, and the files end.
rotation.abort();
console.log('bytes:', await Promise.all(shipping));
const { total, items } = await new DailyAggregates(redis, { prefix }).top('country', day, { limit: 5 });
console.log('lines:', total, items);

await Promise.all(workers.map(async (worker) => worker.stop()));
await rm(directory, { recursive: true });
await redis.quit();

// Output:
// bytes: [ 117, 117 ]
// lines: 6 [ { country: 'FR', count: 4 }, { country: 'JP', count: 2 } ]
