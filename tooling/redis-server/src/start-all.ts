import { StartFailedError } from '@mortise/server-process';

import type { RedisServer } from './server.js';

const ATTEMPTS = 5;

/** Waits for servers that start at the same time; when one fails, stops the others and throws its error. */
export async function startAll(starting: Promise<RedisServer>[]): Promise<RedisServer[]> {
  const results = await Promise.allSettled(starting);
  const started = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
  const failed = results.find((result) => result.status === 'rejected');
  if (failed === undefined) return started;
  await Promise.all(started.map((server) => server.stop()));
  throw failed.reason;
}

/**
 * Starts servers that know each other's ports before any of them runs: when one port was taken meanwhile, all of them begin
 * anew with other ports.
 */
export async function withFreshPorts<T>(start: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await start();
    } catch (error) {
      const isPortTaken = error instanceof StartFailedError && error.isPortTaken;
      if (!isPortTaken || attempt === ATTEMPTS) throw error;
    }
  }
}
