/** Clients without a loader, as those of an HTTP API: one loads, the other waits for its value. */
import { LoadLeases } from '@mortise/cache/loads';
import { Redis } from 'ioredis';

const redis = new Redis(process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379');
const leases = new LoadLeases<string>(redis, 'pages', { prefix: 'example-loads' });
const key = `tools ${Date.now()}`;

async function client(name: string): Promise<void> {
  const { value, lease } = await leases.request(key, { waitMs: 5_000, leaseMs: 10_000 });
  if (!lease) return console.log(`${name} got: ${value}`);
  const isStored = await leases.store(key, lease.token, 'Tools', { ttlMs: 60_000, tags: ['shop'] });
  console.log(`${name} loaded: ${isStored}`);
}
await Promise.all([client('the first'), client('the second')]);
await leases.stop();
await redis.quit();

// Output:
// the first loaded: true
// the second got: Tools
