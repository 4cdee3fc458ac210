import { consoleHandler } from '@mortise/console';
import type { ConsoleHandler, ConsoleOptions } from '@mortise/console';
import type { INestApplication } from '@nestjs/common';
import type { Redis } from 'ioredis';

/** Before `app.listen`, on Express and on Fastify. */
export function mountConsole(app: INestApplication, redis: Redis, options: ConsoleOptions): ConsoleHandler {
  const handler = consoleHandler(redis, options);
  app.use(handler);
  return handler;
}
