import type { ProblemKind } from './problem-kind.js';

export const LOCKS_PROBLEMS = {
  'lock-timeout': {
    status: 409,
    title: 'Others held it until the timeout',
    when: 'Others held the lock or the permits for all of `waitMs`; with 0, at the time of the request. A trade by lock gets this problem after 800 ms.',
    action: 'Repeat, or wait longer.',
    fields:
      '`lockName` or `semaphoreName`, `waitMs`; of a lock `remainingMs`, of a semaphore `limit` and `used`',
  },
  'lease-lost': {
    status: 409,
    title: 'The lease has ended',
    when: 'The lease has ended, was released, or was taken away. After a lost answer the release may have succeeded. For a claimed task: the lease has ended, or the task was completed or failed before. For a file: another request has continued the upload, or another process is the receiver.',
    action: 'Stop the protected work.',
    fields: '`lockName` or `semaphoreName`, `holder`; `queue`, `taskId`',
  },
  'semaphore-limit': {
    status: 409,
    title: 'The semaphore has another number of permits',
    when: 'The first request, or an operator later, set another number of permits.',
    action: 'Use the same number in all programs.',
    fields: '`semaphoreName`, `limit`, `knownLimit`',
  },
} as const satisfies Record<string, ProblemKind>;
