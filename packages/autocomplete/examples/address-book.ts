import { AddressBook } from '@mortise/autocomplete';
import { Redis } from 'ioredis';

const redis = new Redis(process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379');
const guild = new AddressBook<{ level: number }>(redis, 'guild:7', { prefix: 'example' });

await guild.add({ key: '1', display: 'John Smith', score: 5, payload: { level: 12 } });
await guild.add({ key: '2', display: 'Smith, Joan', score: 9 });
await guild.addMany([
  { key: '3', display: 'José Álvarez', score: 7 },
  { key: '4', display: '王小明', aliases: ['Wang Xiaoming'] },
]);
const names = async (text: string, options = {}): Promise<string> =>
  (await guild.complete(text, options)).map(({ display }) => display).join(' | ');

console.log(await names('jo'));
console.log(await names('jo sm'));
console.log(await names('JOSE'));
console.log(await names('xia'));
console.log(await names('jhon', { fuzzy: true }));
console.log(await guild.boost('1', 10));
const [best] = await guild.complete('smi j');
console.log(best?.display, best?.payload, best?.matches);
console.log(await guild.remove('4'), await guild.size());
for (const key of ['1', '2', '3']) await guild.remove(key);
await redis.quit();

// Output:
// Smith, Joan | José Álvarez | John Smith
// Smith, Joan | John Smith
// José Álvarez
// 王小明
// John Smith
// 15
// John Smith { level: 12 } [ { start: 0, end: 1 }, { start: 5, end: 8 } ]
// true 3
