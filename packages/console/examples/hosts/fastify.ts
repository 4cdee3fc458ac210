import { consoleHandler } from '@mortise/console';
import type { ConsoleHandler, ConsoleOptions } from '@mortise/console';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Redis } from 'ioredis';

export async function mountConsole(
  app: FastifyInstance,
  redis: Redis,
  options: ConsoleOptions<FastifyRequest>,
): Promise<ConsoleHandler> {
  const handler = consoleHandler(redis, options);
  await app.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', (_request, _body, done) => done(null));
    for (const path of ['/console', '/console/*']) scope.all(path, handler);
  });
  return handler;
}
