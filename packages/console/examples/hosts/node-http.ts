import type { Server } from 'node:http';
import { consoleHandler } from '@mortise/console';
import type { ConsoleHandler, ConsoleOptions } from '@mortise/console';
import type { Redis } from 'ioredis';

export function mountConsole(server: Server, redis: Redis, options: ConsoleOptions): ConsoleHandler {
  const handler = consoleHandler(redis, options);
  server.on('request', (request, response) => void handler(request, response));
  return handler;
}
