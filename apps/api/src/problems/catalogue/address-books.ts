import type { ProblemKind } from './problem-kind.js';

export const ADDRESS_BOOKS_PROBLEMS = {
  'page-too-deep': {
    status: 400,
    title: 'In this order there are no further pages',
    when: 'By score, pages go only so far.',
    action: 'Type more, or ask for `order=alphabetical`, which has no end.',
    fields: '`depth`, `maxDepth`',
  },
  'not-in-guild': {
    status: 403,
    title: 'Only members of the guild may do this',
    when: "`by` is no name of the guild's address book. For an empty guild: the request doesn't add `by`.",
    action: 'Have a member add them, or create it.',
    fields: '`guild`, `player`',
  },
  'unknown-name': {
    status: 404,
    title: 'The address book has no such name',
    when: 'It was never added, or it was taken out.',
    action: 'PUT the name.',
    fields: '`guild`, `name`',
  },
  'too-many-names': {
    status: 409,
    title: 'The address book has as many names as it may have',
    when: 'The book would have more than `BOOK_MAX_NAMES`.',
    action: 'Take some out.',
    fields: '`guild`, `size`, `maxNames`',
  },
  'entry-too-large': {
    status: 413,
    title: 'The name has too many words, or too much that is stored with it',
    when: 'The display form and the aliases have too many words, or they and the payload too many bytes. Of a batch, names before it may have been stored.',
    action: 'Make them shorter.',
    fields: '`key`, `forms`, `maxForms`, `bytes`, `maxBytes`',
  },
} as const satisfies Record<string, ProblemKind>;
