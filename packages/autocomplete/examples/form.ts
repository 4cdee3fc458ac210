/** Suggestions of a form over HTTP: escaped and highlighted, and the choice of the user ranks higher the next time. */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { AddressBook } from '@mortise/autocomplete';
import { Redis } from 'ioredis';
import { highlight } from './form/highlight.js';

const redis = new Redis(process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379');
const cities = new AddressBook(redis, 'cities', {
  prefix: `example-${randomUUID()}`,
  halfLifeMs: 30 * 86_400_000,
});
await cities.addMany(['Bern', 'Berlin', 'San Bernardino'].map((key) => ({ key })));

const server = createServer((request, response) => {
  const { pathname, searchParams } = new URL(request.url!, 'http://localhost');
  const text = searchParams.get('text') ?? '';
  const answer =
    pathname === '/chosen'
      ? cities.boost(text, 1, { id: searchParams.get('id')! })
      : cities
          .complete(text, { limit: 8, fuzzy: true })
          .then((found) =>
            found.map(({ key, display, matches }) => ({ key, html: highlight(display, matches) })),
          );
  answer.then(
    (body) => response.setHeader('content-type', 'application/json').end(JSON.stringify(body)),
    () => response.writeHead(503).end(),
  );
});
server.listen(0, '127.0.0.1');
await once(server, 'listening');

const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
const get = async (path: string): Promise<unknown> => (await fetch(`${origin}${path}`)).json();
console.log(await get('/suggestions?text=bern'));
await get(`/chosen?text=San%20Bernardino&id=${randomUUID()}`);
console.log(await get('/suggestions?text=bern'));

server.closeAllConnections();
await once(server.close(), 'close');
await redis.quit();

// Output:
// [
//   { key: 'Bern', html: '<mark>Bern</mark>' },
//   { key: 'San Bernardino', html: 'San <mark>Bern</mark>ardino' },
//   { key: 'Berlin', html: '<mark>Ber</mark>lin' }
// ]
// [
//   { key: 'San Bernardino', html: 'San <mark>Bern</mark>ardino' },
//   { key: 'Bern', html: '<mark>Bern</mark>' },
//   { key: 'Berlin', html: '<mark>Ber</mark>lin' }
// ]
