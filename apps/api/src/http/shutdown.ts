/**
 * Ends the server without losing a request: readiness turns to 503 first, requests that have begun are answered, and
 * connections close as they fall idle. Fastify alone closes what is idle at that moment and then waits for the rest,
 * up to 72 s of keep-alive; to cut all connections at once loses requests.
 */
import { setTimeout as wait } from 'node:timers/promises';

import { Injectable } from '@nestjs/common';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';

const SWEEP_MS = 50;
/** A request that has arrived takes less than a second; what isn't answered then never arrived whole. */
const GRACE_MS = 1_200;

@Injectable()
export class ShutdownState {
  isShuttingDown = false;
}

/** @param delayMs How long the server still takes connections while it says that it isn't ready. */
export async function shutDown(app: NestFastifyApplication, delayMs: number): Promise<void> {
  app.get(ShutdownState).isShuttingDown = true;
  await wait(delayMs);
  const { server } = app.getHttpAdapter().getInstance();
  const sweep = setInterval(() => server.closeIdleConnections(), SWEEP_MS);
  const force = setTimeout(() => server.closeAllConnections(), GRACE_MS);
  try {
    await app.close();
  } finally {
    clearInterval(sweep);
    clearTimeout(force);
  }
}
