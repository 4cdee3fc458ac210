/** The rights of the page, which asks for the session of a browser. The host knows its users, so nobody signs in here. */
import { Problem } from './http/problem.js';
import type { Answer } from './http/router.js';
import { done } from './http/router.js';
import type { ConsoleRight } from './http/http-call.js';

const SCOPES: Readonly<Record<ConsoleRight, readonly string[]>> = {
  read: ['queues:read'],
  change: ['queues:read', 'queues:write', 'queues:admin'],
};

/** Throws the problem `method-not-allowed`. */
export function sessionOf(method: string, right: ConsoleRight): Answer {
  if (method !== 'GET' && method !== 'POST') throw new Problem('method-not-allowed', 'it takes GET and POST');
  return done({
    keyId: null,
    tenant: 'default',
    subject: null,
    scopes: SCOPES[right],
    console: right === 'change' ? 'on' : 'read-only',
    // The session is the host's.
    canSignOut: false,
  });
}
