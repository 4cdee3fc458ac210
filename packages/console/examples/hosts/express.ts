import { consoleHandler } from '@mortise/console';
import type { ConsoleHandler, ConsoleOptions } from '@mortise/console';
import type { Express, Request } from 'express';
import type { Redis } from 'ioredis';

/** Before `app.use(express.json())`. */
export function mountConsole(app: Express, redis: Redis, options: ConsoleOptions<Request>): ConsoleHandler {
  const handler = consoleHandler(redis, options);
  app.use('/console', handler);
  return handler;
}
