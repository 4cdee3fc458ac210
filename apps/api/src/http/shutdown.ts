/**
 * Ends the server without losing a request: readiness turns to 503 first, requests that have begun are answered, and
 * connections close as they fall idle. Fastify alone closes the connections that are idle at that moment, and waits up to
 * 72 s for the others. Cutting all connections loses requests.
 */
import { setTimeout as wait } from 'node:timers/promises';

import { Injectable } from '@nestjs/common';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';

import type { Config } from '../config.js';

const SWEEP_MS = 50;
/** A complete request is answered by its deadline; one that is still open this much later never arrived whole. */
const GRACE_MS = 350;

@Injectable()
export class ShutdownState {
  isShuttingDown = false;
}

export async function shutDown(
  app: NestFastifyApplication,
  { SHUTDOWN_DELAY_MS, REQUEST_DEADLINE_MS }: Config,
): Promise<void> {
  app.get(ShutdownState).isShuttingDown = true;
  await wait(SHUTDOWN_DELAY_MS);
  const { server } = app.getHttpAdapter().getInstance();
  const sweep = setInterval(() => server.closeIdleConnections(), SWEEP_MS);
  const force = setTimeout(() => server.closeAllConnections(), REQUEST_DEADLINE_MS + GRACE_MS);
  try {
    await app.close();
  } finally {
    clearInterval(sweep);
    clearTimeout(force);
  }
}
