/**
 * How long the body of a request may take. Node's own limit holds for all requests alike, also for uploads, which may take as long as they go on. So it is
 * switched off, and this one takes its place for all but those.
 */
import type { Socket } from 'node:net';

import type { FastifyInstance } from 'fastify';

import type { BodyConfig } from './fastify.js';

/** Fastify's own value, 0, would let a client that sends slowly hold a connection for ever. */
const BODY_TIMEOUT_MS = 10_000;

/** `onTimeout` gets what Node itself would emit as `clientError`. */
export function limitBodyTime(
  server: FastifyInstance,
  onTimeout: (error: NodeJS.ErrnoException, socket: Socket) => void,
): void {
  server.addHook('onRequest', async ({ raw, routeOptions }) => {
    if ((routeOptions.config as BodyConfig | undefined)?.takesStream) return;
    const timer = setTimeout(() => {
      // Also a request without a body lives as long as its answer.
      if (raw.complete) return;
      onTimeout(
        Object.assign(new Error('request timeout'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' }),
        raw.socket,
      );
    }, BODY_TIMEOUT_MS).unref();
    raw.once('close', () => clearTimeout(timer));
  });
}
