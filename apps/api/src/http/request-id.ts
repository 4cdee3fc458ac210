import type { IncomingMessage } from 'node:http';

import { v7 as uuid } from 'uuid';

const REQUEST_ID = /^[A-Za-z0-9._~-]{1,64}$/;

/** The id that the client gave as `X-Request-Id`, if it is one that may stand in logs and headers; else a new one. */
export function requestId({ headers }: IncomingMessage): string {
  const given = headers['x-request-id'];
  return typeof given === 'string' && REQUEST_ID.test(given) ? given : uuid();
}
