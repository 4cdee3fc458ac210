import { randomUUID } from 'node:crypto';
import { Mailboxes, NotAllowedError } from '@mortise/messaging';
import { Redis } from 'ioredis';

const redis = new Redis(process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379');
const mailboxes = new Mailboxes<string>(redis, { prefix: 'example' });
const jack = `jack-${randomUUID()}`;
const bodies = async (device: string): Promise<string> =>
  (await mailboxes.receive(jack, { device })).map(({ body }) => body).join(', ');

await mailboxes.addDevice(jack, 'phone');
await mailboxes.addDevice(jack, 'laptop');
const hello = await mailboxes.send(jack, 'Hello', { from: 'jill' });
await mailboxes.send(jack, 'Lunch at noon?', { from: 'jill', ttlMs: 60 * 60_000 });
console.log('phone:', await bodies('phone'));
await mailboxes.ack(jack, hello.id, { device: 'phone' });
console.log('phone:', await bodies('phone'));
console.log('laptop:', await bodies('laptop'));

// A message is kept until all devices have acked it, so a device that is gone has to go.
for (const { device, unread, lastFetchedAt } of await mailboxes.devices(jack)) {
  console.log(device, unread, lastFetchedAt === null ? 'was never here' : 'was here');
}
await mailboxes.removeDevice(jack, 'laptop');
console.log('stored:', (await mailboxes.status(jack)).size);

await mailboxes.block(jack, 'joe');
const refusal = await mailboxes.send(jack, 'Buy now!', { from: 'joe' }).catch((error: unknown) => error);
console.log(refusal instanceof NotAllowedError && refusal.code, await mailboxes.blocked(jack));
await redis.quit();

// Output:
// phone: Hello, Lunch at noon?
// phone: Lunch at noon?
// laptop: Hello, Lunch at noon?
// laptop 2 was here
// phone 1 was here
// stored: 1
// ERR_SENDER_BLOCKED [ 'joe' ]
