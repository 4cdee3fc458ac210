/** Three mails at once, then one every two seconds, however many processes send them. */
import { setTimeout as pause } from 'node:timers/promises';
import { RateLimiter } from '@mortise/locks';
import { Redis } from 'ioredis';

const redis = new Redis(process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379');
const mails = new RateLimiter(redis, 'mails', { limit: 30, periodMs: 60_000, burst: 3, prefix: 'example' });
await mails.reset();

for (let number = 1; number <= 4; number += 1) {
  let take = await mails.take();
  while (!take.isAllowed) {
    console.log(`mail ${number} has to wait:`, take.retryAfterMs > 0);
    // To the ms: no polling.
    await pause(take.retryAfterMs);
    take = await mails.take();
  }
  console.log(`mail ${number} is sent`);
}

console.log('all at once:', await mails.take(4).catch((error: Error) => error.message));
await mails.reset();
await redis.quit();

// Output:
// mail 1 is sent
// mail 2 is sent
// mail 3 is sent
// mail 4 has to wait: true
// mail 4 is sent
// all at once: cost must be a whole number from 0 to 3, got 4
