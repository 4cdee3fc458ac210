/** Two requests a minute for each client, counted for all processes of an Express server and of a Fastify server. */
import { limitRequests } from '@mortise/locks/express';
import { limitRequests as limitFastify } from '@mortise/locks/fastify';
import express from 'express';
import Fastify from 'fastify';
import { Redis } from 'ioredis';
import type { AddressInfo } from 'node:net';

const redis = new Redis(process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379');
const options = { limit: 2, periodMs: 60_000, prefix: `example-http-${Date.now()}` };

const app = express();
app.use(limitRequests(redis, 'api', options));
app.get('/', (_request, response) => void response.send('served by Express'));
const server = app.listen(0, '127.0.0.1');
await new Promise((resolve) => server.once('listening', resolve));

const fastify = Fastify();
fastify.addHook('onRequest', limitFastify(redis, 'api', options));
fastify.get('/', async () => 'served by Fastify');

const urls = [
  `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
  await fastify.listen({ port: 0, host: '127.0.0.1' }),
];
for (const url of [urls[0]!, urls[1]!, urls[0]!]) {
  const answer = await fetch(url);
  const text = answer.status === 200 ? await answer.text() : `wait: ${answer.headers.has('retry-after')}`;
  console.log(answer.status, text, answer.headers.get('ratelimit-policy'));
}

server.close();
await fastify.close();
await redis.quit();

// Output:
// 200 served by Express "api";q=2;w=60
// 200 served by Fastify "api";q=2;w=60
// 429 wait: true "api";q=2;w=60
