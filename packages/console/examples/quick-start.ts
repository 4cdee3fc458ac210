import { createServer } from 'node:http';
import { consoleHandler } from '@mortise/console';
import { Redis } from 'ioredis';

const redis = new Redis(process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379');
const handler = consoleHandler(redis, { authorize: () => 'read' });
const server = createServer((request, response) => void handler(request, response)).listen(0);
const { port } = server.address() as { port: number };

const page = await fetch(`http://127.0.0.1:${port}/console/`);
console.log(page.status, page.headers.get('content-type'));

server.closeAllConnections();
server.close();
await handler.close();
await redis.quit();

// Output:
// 200 text/html; charset=utf-8
