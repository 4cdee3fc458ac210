/** Serves the page of the console, which apps/api/console builds. It has no data: those come from the API, under a session. */
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import fastifyStatic from '@fastify/static';
import type { FastifyInstance } from 'fastify';
import type { Logger } from 'pino';

import { Problem } from '../problems/problem.js';

/** From src/ and from dist/. */
const PAGE = fileURLToPath(new URL('../../console/dist/', import.meta.url));
const INDEX = 'index.html';
const ASSET = /^assets\/[\w.-]+$|^icon\.svg$/;
const YEAR_S = 31_536_000;

export async function serveConsole(server: FastifyInstance, log: Logger): Promise<void> {
  const isBuilt = existsSync(PAGE + INDEX);
  if (!isBuilt) log.warn('the page of the console is not built: npm run build');
  await server.register(fastifyStatic, { root: PAGE, serve: false, preCompressed: true });
  server.get('/console', async (_request, reply) => reply.redirect('/console/', 308));
  server.get<{ Params: { '*': string } }>('/console/*', async ({ params: { '*': path } }, reply) => {
    if (!isBuilt) throw new Problem('unknown-route', 'the page of the console is not built');
    const isAsset = ASSET.test(path);
    if (isAsset) {
      if (!existsSync(PAGE + path)) throw new Problem('unknown-route');
      // The name of an asset changes with its content.
      const maxAge = path.startsWith('assets/') ? `public, max-age=${YEAR_S}, immutable` : 'no-cache';
      return reply.header('cache-control', maxAge).sendFile(path, { cacheControl: false });
    }
    // Every other address is a place of the page.
    return reply.header('cache-control', 'no-cache').sendFile(INDEX, { cacheControl: false });
  });
}
