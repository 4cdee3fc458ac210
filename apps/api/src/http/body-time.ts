/**
 * The time limit of a request's body. Node's own limit applies to all requests, but an upload may take as long as it makes
 * progress. So Node's limit is switched off, and this one applies to all other requests.
 */
import type { Socket } from 'node:net';

import type { FastifyInstance } from 'fastify';

import type { BodyConfig } from './body-config.js';

/** Fastify's own value, 0, would let a client that sends slowly hold a connection for ever. */
const BODY_TIMEOUT_MS = 10_000;

/** `onTimeout` gets the error that Node would emit as `clientError`. */
export function limitBodyTime(
  server: FastifyInstance,
  onTimeout: (error: NodeJS.ErrnoException, socket: Socket) => void,
): void {
  server.addHook('onRequest', async ({ raw, routeOptions }) => {
    if ((routeOptions.config as BodyConfig | undefined)?.takesStream) return;
    const timer = setTimeout(() => {
      // A request without a body also lives as long as its answer.
      if (raw.complete) return;
      onTimeout(
        Object.assign(new Error('request timeout'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' }),
        raw.socket,
      );
    }, BODY_TIMEOUT_MS).unref();
    raw.once('close', () => clearTimeout(timer));
  });
}
