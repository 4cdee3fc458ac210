/** The rights of the page, which asks for the session of a browser. The host knows its users, so nobody signs in here. */
import { Problem } from './http/problem.js';
import type { Answer } from './http/router.js';
import { done, DONE } from './http/router.js';
import type { ConsoleRight } from './options.js';

const SCOPES: Readonly<Record<ConsoleRight, readonly string[]>> = {
  read: ['queues:read'],
  change: ['queues:read', 'queues:write', 'queues:admin'],
};

/** Throws the problem `method-not-allowed`. */
export function sessionOf(method: string, right: ConsoleRight): Answer {
  // The button of the page that ends a session: that of the host goes on.
  if (method === 'DELETE') return DONE;
  if (method !== 'GET' && method !== 'POST')
    throw new Problem('method-not-allowed', 'it takes GET, POST, DELETE');
  return done({
    keyId: null,
    tenant: 'default',
    subject: null,
    scopes: SCOPES[right],
    console: right === 'change' ? 'on' : 'read-only',
  });
}
