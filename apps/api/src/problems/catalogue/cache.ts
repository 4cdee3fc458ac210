import type { ProblemKind } from './problem-kind.js';

export const CACHE_PROBLEMS = {
  'not-cached': {
    status: 404,
    title: 'The cache has no such entry',
    when: 'The entry was never stored, has ended, or was invalidated. Or Redis is unavailable.',
    action: 'Request a load by `POST …/loads`, or load the value and PUT the entry.',
    fields: '`cache`, `key`',
  },
  'load-pending': {
    status: 409,
    title: 'Another client still loads the entry',
    when: 'Nothing is cached, and another client or program was loading the value for all of `waitMs`.',
    action: 'Repeat, or wait longer.',
    fields: '`cache`, `key`, `waitMs`',
  },
  'load-outdated': {
    status: 409,
    title: 'The load has lost its lease',
    when: 'Since the token was given, the lease has ended, the entry was stored or removed, or one of its tags was invalidated. Nothing was stored.',
    action: 'Request a new load.',
    fields: '`cache`, `key`',
  },
  'unknown-table': {
    status: 404,
    title: 'No such table is cached',
    when: 'The table is not in `CACHE_TABLES`.',
    action: 'Add the table to this setting of the API and the worker.',
    fields: '`table`',
  },
  'not-scheduled': {
    status: 404,
    title: 'The row is not scheduled',
    when: 'The row was never scheduled, was removed, or did not exist in the database when it was loaded.',
    action: 'PUT the row, if it should be cached.',
    fields: '`table`, `id`',
  },
  'unknown-row': {
    status: 404,
    title: 'The table of the database has no such row',
    when: 'The row is scheduled, but no longer exists in the database.',
    action: 'Nothing: the row is queried again.',
    fields: '`table`, `id`',
  },
  'source-failed': {
    status: 502,
    title: 'The row could never be loaded from the database',
    when: 'The row was scheduled, but could not be loaded even once. (A row that was loaded before is served as it was, with its `Age`.)',
    action: 'Look at the log of the worker, and at the database.',
    fields: '`table`, `id`, `failures`',
  },
  'not-loaded': {
    status: 503,
    title: 'The row is loaded for the first time',
    when: 'The row was scheduled a moment ago, or no worker runs.',
    action: 'Repeat after `Retry-After`.',
    fields: '`table`, `id`',
  },
} as const satisfies Record<string, ProblemKind>;
