/** A receiver reads the lines of a file while the sender still writes it. */
import { randomUUID } from 'node:crypto';
import { PassThrough } from 'node:stream';
import { FileReceiver, FileSender } from '@mortise/messaging/files';
import { Redis } from 'ioredis';

const redis = new Redis(process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379');
const prefix = `example-${randomUUID()}`;
const sender = new FileSender(redis, 'access-logs', { receivers: ['worker-1'], prefix });
const receiver = new FileReceiver(redis, 'access-logs', 'worker-1', { prefix });

// The id lets `send` continue after a crash, and makes sending twice safe.
const log = new PassThrough();
const sending = sender.send(log, { name: 'access.log', id: 'access-2026-11-28' });
log.write('GET /\nGET /about\n');

for await (const file of receiver.files()) {
  for await (const line of file.lines()) {
    console.log(file.name, line);
    if (line === 'GET /about') log.end('POST /login\n');
  }
  await file.done();
  await sender.end();
}
const { bytes, isDuplicate } = await sending;
console.log(bytes, 'bytes', isDuplicate);
await redis.quit();

// Output:
// access.log GET /
// access.log GET /about
// access.log POST /login
// 29 bytes false
