import type { FastifyRequest } from 'fastify';

import { DEFAULTS } from './index.js';

/** A trade by lock may take longer by the wait for its listing. */
export function lockWaitOf({ body, query }: FastifyRequest): number {
  return isByLock(body) || isByLock(query) ? DEFAULTS.lockWaitMs : 0;
}

function isByLock(part: unknown): boolean {
  return (part as { strategy?: unknown } | null | undefined)?.strategy === 'lock';
}
