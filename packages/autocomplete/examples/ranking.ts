/** Scores decide the order: the application sets them, or each choice of a user raises one. */
import { randomUUID } from 'node:crypto';
import { AddressBook } from '@mortise/autocomplete';
import { Redis } from 'ioredis';

const redis = new Redis(process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379');
const prefix = `example-${randomUUID()}`;
const WEEK_MS = 7 * 86_400_000;
// A score falls to half in a week: choices of last month count little.
const cities = new AddressBook(redis, 'cities', { prefix, halfLifeMs: WEEK_MS });
await cities.addMany(['Bern', 'Berlin', 'Bergen', 'Basel'].map((key) => ({ key })));

// A user has chosen: the id makes a repeated request count once.
await cities.boost('Bern', 1, { id: 'request-1' });
await cities.boost('Berlin', 1, { id: 'request-2' });
await cities.boost('Berlin', 1, { id: 'request-3' });
await cities.boost('Berlin', 1, { id: 'request-3' });
for (const { display, score } of await cities.complete('be')) console.log(display, Math.round(score));

// Pages: in the order of scores to the 10,000th entry, alphabetically to the end.
let cursor: string | null = null;
do {
  const page = await cities.page('', { order: 'alphabetical', limit: 3, cursor });
  console.log(page.suggestions.map(({ display }) => display).join(', '));
  cursor = page.cursor;
} while (cursor !== null);
await redis.quit();

// Output:
// Berlin 2
// Bern 1
// Bergen 0
// Basel, Bergen, Berlin
// Bern
