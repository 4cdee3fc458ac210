/** The words by which a name is found, the ranges to highlight, and typing errors. */
import { randomUUID } from 'node:crypto';
import { AddressBook, normalize } from '@mortise/autocomplete';
import { Redis } from 'ioredis';

const redis = new Redis(process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379');
const NICKNAMES: Readonly<Record<string, readonly string[]>> = { Elizabeth: ['Liz', 'Beth'] };
const book = new AddressBook(redis, 'people', {
  prefix: `example-${randomUUID()}`,
  keysOf: (display) => display.split(' ').flatMap((word) => NICKNAMES[word] ?? []),
});
await book.addMany([
  { key: '1', display: 'Łukasz Strauß', score: 3 },
  { key: '2', display: "Elizabeth O'Neill-Smith", score: 2 },
  { key: '3', display: '王小明', aliases: ['Wang Xiaoming'], score: 1 },
]);

console.log(normalize('Łukasz STRAUSS'), normalize('Strauß'));
for (const text of ['strauss luk', 'smith eliz', 'beth', 'xia', 'elizabteh']) {
  const [best] = await book.complete(text, { fuzzy: true });
  console.log(text, '→', best?.display, best?.isFuzzy ? '(an edit)' : '(exact)', best?.matches);
}
await redis.quit();

// Output:
// lukasz strauss strauss
// strauss luk → Łukasz Strauß (exact) [ { start: 0, end: 3 }, { start: 7, end: 13 } ]
// smith eliz → Elizabeth O'Neill-Smith (exact) [ { start: 0, end: 4 }, { start: 18, end: 23 } ]
// beth → Elizabeth O'Neill-Smith (exact) []
// xia → 王小明 (exact) []
// elizabteh → Elizabeth O'Neill-Smith (an edit) [ { start: 0, end: 9 } ]
