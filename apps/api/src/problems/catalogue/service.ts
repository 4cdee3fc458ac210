import type { ProblemKind } from './problem-kind.js';

export const SERVICE_PROBLEMS = {
  'internal-error': {
    status: 500,
    title: 'The server failed',
    when: 'The API has a defect.',
    action: 'Report it with `instance`.',
  },
  'redis-unavailable': {
    status: 503,
    title: 'Redis cannot be reached',
    when: 'Redis gave no answer within a second, replied that it is not ready, or has other data under the keys of a lock.',
    action: 'Repeat after `Retry-After`.',
  },
  'redis-denied': {
    status: 503,
    title: 'Redis refuses a command to the user of the service',
    when: 'The user of `REDIS_USERNAME` lacks the right to a command, a key or a channel.',
    action: 'Give the user the rights of docs/operations/redis.md. The log names the missing right.',
  },
  'shutting-down': {
    status: 503,
    title: 'The server is shutting down',
    when: 'The server is ending. It refuses `/health/ready`, files and streams, and ends waits for locks, tasks and messages.',
    action: 'Use another one.',
  },
  'too-many-connections': {
    status: 503,
    title: 'As many connections are open as may be',
    when: 'The process has `MAX_CONNECTIONS` connections. The answer closes this connection.',
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
    when: 'The mails of too many sales wait to be enqueued, since the queue has refused them for long.',
    action: 'Look at the log; repeat later.',
    fields: '`limit`',
  },
  'market-full': {
    status: 507,
    title: 'The market has as many players or items as it may have',
    when: 'The maximum number of players or items is reached.',
    action: 'Raise the limit.',
    fields: '`option`, `limit`',
  },
} as const satisfies Record<string, ProblemKind>;
