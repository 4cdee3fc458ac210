import type { Socket } from 'node:net';

import { v7 as uuid } from 'uuid';

import type { ProblemSlug } from '../problems/catalogue.js';
import { Problem } from '../problems/problem.js';

const SLUGS: Readonly<Record<string, ProblemSlug>> = {
  HPE_HEADER_OVERFLOW: 'headers-too-large',
  ERR_HTTP_REQUEST_TIMEOUT: 'request-timeout',
};

/** Answers what is no HTTP request at all, or none that arrived in time: there is no request or reply to work with. */
export function answerClientError(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET' || socket.destroyed) return;
  const problem = new Problem(SLUGS[error.code ?? ''] ?? 'malformed-request');
  const body = JSON.stringify(problem.toDocument(uuid()));
  const head = [
    `HTTP/1.1 ${problem.status} Problem`,
    'content-type: application/problem+json',
    `content-length: ${Buffer.byteLength(body)}`,
    'connection: close',
  ];
  if (socket.writable) socket.write(`${head.join('\r\n')}\r\n\r\n${body}`);
  socket.destroySoon();
}
