import type { ProblemKind } from './problem-kind.js';

export const CACHE_PROBLEMS = {
  'not-cached': {
    status: 404,
    title: 'The cache has no such entry',
    when: 'The entry was never stored, has ended, or was invalidated; or Redis is unavailable.',
    action: 'Load the value, and PUT it.',
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
