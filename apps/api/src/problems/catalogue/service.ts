import type { ProblemKind } from './problem-kind.js';

export const SERVICE_PROBLEMS = {
  'internal-error': {
    status: 500,
    title: 'The server failed',
    when: 'A defect.',
    action: 'Report it with `instance`.',
  },
  'redis-unavailable': {
    status: 503,
    title: 'Redis cannot be reached',
    when: "Redis gave no answer within a second, answered that it can't now, or holds something else under a lock's keys.",
    action: 'Repeat after `Retry-After`.',
  },
  'redis-denied': {
    status: 503,
    title: 'Redis refuses a command to the user of the service',
    when: 'The user of `REDIS_USERNAME` lacks the right to a command, a key or a channel.',
    action: 'Give it the rights of docs/operations/redis.md; the log names the missing one.',
  },
  'shutting-down': {
    status: 503,
    title: 'The server is shutting down',
    when: '`/health/ready` of a server that ends, and what waited for a lock, tasks or messages there, sends a file, or opens a stream.',
    action: 'Use another one.',
  },
  'too-many-connections': {
    status: 503,
    title: 'As many connections are open as may be',
    when: 'The process has `MAX_CONNECTIONS` connections. The answer closes its own.',
    action: 'Retry after `Retry-After`; keep connections alive.',
    fields: '`limit`',
  },
  'too-many-waits': {
    status: 503,
    title: 'As many requests wait as may wait',
    when: '1,000 requests to this process wait for locks, tasks or messages.',
    action: 'Repeat after `Retry-After`, at another one.',
    fields: '`limit`',
  },
  'too-many-streams': {
    status: 503,
    title: 'As many streams are open as may be',
    when: '`MAX_STREAMS` streams of this process are open.',
    action: 'Repeat after `Retry-After`, at another one.',
    fields: '`limit`',
  },
  'outbox-full': {
    status: 503,
    title: 'Too many mails wait to be enqueued',
    when: 'The mails of as many sales as are kept wait to be enqueued: the queue has refused them for long.',
    action: 'Look at the log; repeat later.',
    fields: '`limit`',
  },
  'market-full': {
    status: 507,
    title: 'The market has as many players or items as it may have',
    when: 'There are as many players or items as there may be.',
    action: 'Raise the limit.',
    fields: '`option`, `limit`',
  },
} as const satisfies Record<string, ProblemKind>;
