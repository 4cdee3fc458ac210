/**
 * The scope that each route needs, and which of them are the deployment's. The first segment of an address names the package, the method whether it reads or writes;
 * exceptions come first. The server refuses to start with a route that has no scope here.
 */
import type { Scope } from './scopes.js';
import { isScope } from './scopes.js';

/** `public`: the route needs no credential. `credential`: it needs a valid one, of any scopes. */
export type Access = Scope | 'public' | 'credential';

const PUBLIC = /^\/(?:v1)?$|^\/(?:health|docs|console|problems)(?:\/|$)|^\/openapi\.json$/;

/** The OpenAPI document, and the page that shows it. */
export const DOCUMENT = /^\/docs(?:\/|$)|^\/openapi\.json$/;

/** A member on a WebSocket posts and acks as well. */
export const SUBSCRIBE_SCOPE = 'messaging:write';

const EXCEPTIONS: Readonly<Record<string, Scope>> = {
  'POST /v1/locks/:name/force-release': 'locks:admin',
  'POST /v1/read-write-locks/:name/force-release': 'locks:admin',
  'POST /v1/semaphores/:name/force-release': 'locks:admin',
  'DELETE /v1/rate-limiters/:name': 'locks:admin',
  'PUT /v1/semaphores/:name': 'locks:admin',
  // They scan Redis, and show every holder.
  'GET /v1/locks': 'locks:admin',
  'GET /v1/semaphores': 'locks:admin',
  'GET /v1/rate-limiters': 'locks:admin',

  // It scans Redis, too.
  'GET /v1/caches/:cache/entries': 'ops:read',

  'PUT /v1/queues/:queue': 'queues:admin',
  'DELETE /v1/queues/:queue': 'queues:admin',
  'POST /v1/queues/:queue/pause': 'queues:admin',
  'POST /v1/queues/:queue/resume': 'queues:admin',
  'POST /v1/queues/:queue/drain': 'queues:admin',
  'POST /v1/queues/:queue/clean': 'queues:admin',
  'POST /v1/queues/:queue/retry': 'queues:admin',
  'POST /v1/queues/:queue/bulk-operations': 'queues:admin',

  'POST /v1/queues/:queue/claims': 'queues:consume',
  'POST /v1/queues/:queue/tasks/:id/heartbeat': 'queues:consume',
  'POST /v1/queues/:queue/tasks/:id/complete': 'queues:consume',
  'POST /v1/queues/:queue/tasks/:id/fail': 'queues:consume',
  'POST /v1/queues/:queue/tasks/:id/give-back': 'queues:consume',
  'POST /v1/queues/:queue/tasks/:id/progress': 'queues:consume',
  'POST /v1/queues/:queue/tasks/:id/log': 'queues:consume',
  // Results of steps may be secret.
  'GET /v1/queues/:queue/tasks/:id/steps': 'queues:consume',
  'POST /v1/queues/:queue/tasks/:id/steps': 'queues:consume',
  'PUT /v1/queues/:queue/tasks/:id/cursor': 'queues:consume',
  'POST /v1/queues/:queue/tasks/:id/wait': 'queues:consume',
};

const SEGMENTS: Readonly<Record<string, string>> = {
  locks: 'locks',
  'multi-locks': 'locks',
  'rate-limiters': 'locks',
  'read-write-locks': 'locks',
  semaphores: 'locks',
  queues: 'queues',
  operations: 'queues',
  webhooks: 'queues',
  mailboxes: 'messaging',
  chats: 'messaging',
  members: 'messaging',
  'file-channels': 'messaging',
  files: 'messaging',
  contacts: 'autocomplete',
  'address-books': 'autocomplete',
  cache: 'cache',
  caches: 'cache',
  market: 'market',
  // The mails of the market.
  tasks: 'market',
};

/** Every route below it needs this. */
const WHOLE: Readonly<Record<string, Access>> = {
  admin: 'tenants:admin',
  aggregates: 'ops:read',
  overview: 'queues:read',
  // They scan Redis.
  names: 'ops:read',
  redis: 'ops:read',
  // Each topic has a scope, and each frame.
  events: 'credential',
  ws: 'credential',
  session: 'credential',
};

/** The areas of the deployment itself: they use its database, its SMTP server, the secret of its webhooks. */
const OF_DEPLOYMENT: ReadonlySet<string> = new Set([
  'admin',
  'aggregates',
  'cache',
  'market',
  'redis',
  'tasks',
  'webhooks',
]);

/** Whether the route is there for the tenant of the deployment alone. */
export function isOfDeployment(pattern: string): boolean {
  const [, , segment = ''] = pattern.split('/');
  return OF_DEPLOYMENT.has(segment);
}

/**
 * The scope of a route.
 *
 * @param pattern The address as the router has it: `/v1/locks/:name`. Throws for a route without a scope.
 */
export function accessOf(method: string, pattern: string): Access {
  if (PUBLIC.test(pattern)) return 'public';
  const verb = method === 'HEAD' ? 'GET' : method;
  const exception = EXCEPTIONS[`${verb} ${pattern}`];
  if (exception) return exception;
  const [, version, segment = ''] = pattern.split('/');
  const access = WHOLE[segment] ?? `${SEGMENTS[segment]}:${verb === 'GET' ? 'read' : 'write'}`;
  if (version !== 'v1' || !(access === 'credential' || access === 'public' || isScope(access)))
    throw new Error(`${method} ${pattern} has no scope in route-scopes.ts`);
  return access;
}
