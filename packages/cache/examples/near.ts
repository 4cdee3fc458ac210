/** Two processes keep values in their own memory. A change by one removes the copy of the other. */
import { setInterval as ticks } from 'node:timers/promises';
import { Cache } from '@mortise/cache';
import { Redis } from 'ioredis';

const clients = [1, 2].map(() => new Redis(process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379'));
const [here, there] = clients.map(
  (redis) => new Cache<string>(redis, 'titles', { near: { entries: 10_000 }, prefix: 'example-near' }),
) as [Cache<string>, Cache<string>];

await here.set('tools', 'Tools');
// `peek` reads the memory of the process alone. The tier fills when its connections are there.
for await (const _ of ticks(5)) if ((await there.get('tools')) && there.peek('tools')) break;
console.log('in the memory of the other process:', there.peek('tools'));

await here.set('tools', 'Hand tools');
for await (const _ of ticks(1)) if (there.peek('tools') === undefined) break;
console.log('removed there:', there.peek('tools'), '- read again:', await there.get('tools'));

await Promise.all([here.stop(), there.stop()]);
for (const redis of clients) await redis.quit();

// Output:
// in the memory of the other process: Tools
// removed there: undefined - read again: Hand tools
