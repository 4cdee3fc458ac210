import { AddressBook } from '@mortise/autocomplete';
import { Redis } from 'ioredis';

const redis = new Redis(process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379');
const staff = new AddressBook(redis, 'staff', { prefix: 'example' });

await staff.add({ key: '1', display: 'John Smith', score: 5 });
await staff.add({ key: '2', display: 'Smith, Joan', score: 9 });
for (const text of ['jo', 'smi joh', 'JOAN']) {
  const found = await staff.complete(text, { limit: 5 });
  console.log(text, '→', found.map(({ display }) => display).join(' | '));
}
for (const key of ['1', '2']) await staff.remove(key);
await redis.quit();

// Output:
// jo → Smith, Joan | John Smith
// smi joh → John Smith
// JOAN → Smith, Joan
