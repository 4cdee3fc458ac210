/** A console below `/console` of an Express app: operators change, everybody else with an account reads. */
import { once } from 'node:events';

import { consoleHandler } from '@mortise/console';
import { Queue } from '@mortise/queues';
import express from 'express';
import { Redis } from 'ioredis';

const redis = new Redis(process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379');
const prefix = 'example-console';
const queue = new Queue(redis, 'mail', { prefix });

/** Your own sessions go here. */
const ROLES: Readonly<Record<string, 'read' | 'change'>> = { olga: 'change', rudi: 'read' };
const userOf = ({ headers }: express.Request): string => String(headers['x-user'] ?? '');

const app = express();
await using handler = consoleHandler(redis, {
  prefix,
  authorize: (request: express.Request) => ROLES[userOf(request)],
  onAction: ({ method, path, status, request }) => console.log(userOf(request), method, path, status),
});
app.use('/console', handler);
const server = app.listen(0, '127.0.0.1');
await once(server, 'listening');
const { port } = server.address() as { port: number };

async function pause(user: string): Promise<void> {
  const headers = { 'x-user': user, 'sec-fetch-site': 'same-origin' };
  const url = `http://127.0.0.1:${port}/console/v1/queues/mail/pause`;
  const { status } = await fetch(url, { method: 'POST', headers });
  console.log(`${user} got ${status}`);
}

await queue.enqueue('mail.sold', { to: 'frank' });
await pause('olga');
await pause('rudi');
await pause('stranger');
console.log('is paused:', (await queue.settings()).isPaused);

await queue.obliterate();
server.closeAllConnections();
server.close();
await redis.quit();

// Output:
// olga POST queues/mail/pause 204
// olga got 204
// rudi POST queues/mail/pause 403
// rudi got 403
// stranger got 403
// is paused: true
