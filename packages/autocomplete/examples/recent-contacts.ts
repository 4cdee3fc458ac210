import { RecentContacts } from '@mortise/autocomplete';
import { Redis } from 'ioredis';

const redis = new Redis(process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379');
const recent = new RecentContacts(redis, { capacity: 100, prefix: 'example' });

for (const contact of ['Jean', 'Łukasz', 'José', 'Jill', 'Jean']) await recent.touch('anna', contact);
console.log(await recent.complete('anna', 'je'));
console.log(await recent.complete('anna', 'J', { limit: 2 }));
console.log(await recent.complete('anna', 'LUK'));

console.log(await recent.remove('anna', 'Jill'));
console.log(await recent.list('anna'));
await redis.quit();

// Output:
// [ 'Jean' ]
// [ 'Jean', 'Jill' ]
// [ 'Łukasz' ]
// true
// [ 'Jean', 'José', 'Łukasz' ]
