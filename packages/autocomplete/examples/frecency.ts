import { RecentContacts } from '@mortise/autocomplete';
import { Redis } from 'ioredis';

const redis = new Redis(process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379');
const WEEK_MS = 7 * 86_400_000;
const frequent = new RecentContacts(redis, { halfLifeMs: WEEK_MS, prefix: 'example' });

for (const contact of ['Jill', 'Jack', 'Jill', 'Joe', 'Jack', 'Jill']) await frequent.touch('anna', contact);
console.log(await frequent.list('anna'));
console.log(await frequent.complete('anna', 'ja'));
for (const contact of ['Jill', 'Jack', 'Joe']) await frequent.remove('anna', contact);
await redis.quit();

// Output:
// [ 'Jill', 'Jack', 'Joe' ]
// [ 'Jack' ]
