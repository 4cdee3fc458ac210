import type { ProblemKind } from './problem-kind.js';

export const CACHE_PROBLEMS = {
  'not-cached': {
    status: 404,
    title: 'The cache has no such entry',
    when: 'The entry was never stored, has ended, or was invalidated; or Redis is unavailable.',
    action: 'Ask for its load by `POST …/loads`, or load it and PUT it.',
    fields: '`cache`, `key`',
  },
  'load-pending': {
    status: 409,
    title: 'Another client still loads the entry',
    when: 'Nothing is cached, and another client or program loads the value, for all of `waitMs`.',
    action: 'Repeat, or wait longer.',
    fields: '`cache`, `key`, `waitMs`',
  },
  'load-outdated': {
    status: 409,
    title: 'The load has lost its lease',
    when: 'Since the token was given, the lease has ended, the entry was stored or removed, or one of its tags was invalidated. Nothing was stored.',
    action: 'Ask for a new load.',
    fields: '`cache`, `key`',
  },
  'unknown-table': {
    status: 404,
    title: 'No such table is cached',
    when: 'It is not in `CACHE_TABLES`.',
    action: 'Name it there, for the API and the worker.',
    fields: '`table`',
  },
  'not-scheduled': {
    status: 404,
    title: 'The row is not scheduled',
    when: 'Nobody has scheduled the row, it was taken out, or the database had no such row when it was loaded.',
    action: 'PUT it, if it should be there.',
    fields: '`table`, `id`',
  },
  'unknown-row': {
    status: 404,
    title: 'The table of the database has no such row',
    when: 'The row is scheduled, and is gone from the database.',
    action: 'Nothing: it is asked for again.',
    fields: '`table`, `id`',
  },
  'source-failed': {
    status: 502,
    title: 'The row could never be loaded from the database',
    when: 'The row was scheduled and could not be loaded even once. One that was loaded is served as it was, with its `Age`.',
    action: "Look at the worker's log, and at the database.",
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
