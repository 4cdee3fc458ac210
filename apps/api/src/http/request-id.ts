import type { IncomingMessage } from 'node:http';

import { v7 as uuid } from 'uuid';

const REQUEST_ID = /^[A-Za-z0-9._~-]{1,64}$/;

/** The client's `X-Request-Id` if logs and headers can contain it; otherwise a new id. */
export function requestId({ headers }: IncomingMessage): string {
  const given = headers['x-request-id'];
  return typeof given === 'string' && REQUEST_ID.test(given) ? given : uuid();
}
