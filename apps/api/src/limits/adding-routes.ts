/**
 * The routes that add data. A tenant over its quota of keys or bytes gets no further ones. It may read, delete, and end what it has begun:
 * otherwise it could never have less.
 */
import { isOfDeployment } from '../callers/route-scopes.js';

/** Writes that add no data, apart from those by DELETE: they remove, end, release, ack or move data. */
const OTHERS: ReadonlySet<string> = new Set([
  'POST /v1/queues/:queue/pause',
  'POST /v1/queues/:queue/resume',
  'POST /v1/queues/:queue/drain',
  'POST /v1/queues/:queue/clean',
  'POST /v1/queues/:queue/retry',
  'POST /v1/queues/:queue/bulk-operations',
  'POST /v1/queues/:queue/flows/cancel',
  'POST /v1/queues/:queue/claims',
  'POST /v1/queues/:queue/tasks/:id/retry',
  'POST /v1/queues/:queue/tasks/:id/promote',
  'POST /v1/queues/:queue/tasks/:id/cancel',
  'POST /v1/queues/:queue/tasks/:id/reschedule',
  'POST /v1/queues/:queue/tasks/:id/priority',
  'POST /v1/queues/:queue/tasks/:id/heartbeat',
  'POST /v1/queues/:queue/tasks/:id/complete',
  'POST /v1/queues/:queue/tasks/:id/fail',
  'POST /v1/queues/:queue/tasks/:id/give-back',
  'POST /v1/queues/:queue/tasks/:id/progress',
  'POST /v1/queues/:queue/tasks/:id/log',
  // They are part of the work on a task, and limited for each.
  'POST /v1/queues/:queue/tasks/:id/steps',
  'PUT /v1/queues/:queue/tasks/:id/cursor',
  'POST /v1/queues/:queue/tasks/:id/wait',
  'POST /v1/locks/:name/renew',
  'POST /v1/locks/:name/release',
  'POST /v1/locks/:name/force-release',
  'POST /v1/multi-locks/renew',
  'POST /v1/multi-locks/release',
  'POST /v1/read-write-locks/:name/renew',
  'POST /v1/read-write-locks/:name/release',
  'POST /v1/read-write-locks/:name/force-release',
  'POST /v1/semaphores/:name/renew',
  'POST /v1/semaphores/:name/release',
  'POST /v1/semaphores/:name/force-release',
  'POST /v1/caches/:cache/invalidations',
  'POST /v1/mailboxes/:recipient/ack',
  'PUT /v1/chats/:id/members/:member/cursor',
  'POST /v1/chats/:id/typing',
  'POST /v1/file-channels/:channel/end',
  'POST /v1/files/:id/acks',
  // It belongs to the caller, not to the tenant.
  'POST /v1/session',
]);

const ADDING: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH']);

/**
 * Whether requests of the route add data of a tenant that may have quotas.
 *
 * @param pattern The address as the router has it: `/v1/locks/:name`.
 */
export function addsData(method: string, pattern: string): boolean {
  return ADDING.has(method) && !OTHERS.has(`${method} ${pattern}`) && !isOfDeployment(pattern);
}
