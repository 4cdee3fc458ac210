import { randomUUID } from 'node:crypto';
import { Mailboxes } from '@mortise/messaging';
import { Redis } from 'ioredis';

const redis = new Redis(process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379');
const mailboxes = new Mailboxes<string>(redis, { prefix: 'example', maxMessages: 3 });
const jack = `jack-${randomUUID()}`;

const waiting = mailboxes.receive(jack, { waitMs: 10_000 });
await mailboxes.send(jack, 'Hello', { from: 'jill' });
for (const { id, from, body } of await waiting) console.log(id, from, body);
console.log(await mailboxes.ack(jack, 1), await mailboxes.unread(jack));

for (const body of ['one', 'two', 'three', 'four']) await mailboxes.send(jack, body, { from: 'joe' });
for (const { id, body, droppedBefore } of await mailboxes.receive(jack)) console.log(id, body, droppedBefore);
await redis.quit();

// Output:
// 1 jill Hello
// 1 0
// 3 two { fromId: 2, toId: 2 }
// 4 three undefined
// 5 four undefined
