import type { ProblemKind } from './problem-kind.js';

export const ADDRESS_BOOKS_PROBLEMS = {
  'page-too-deep': {
    status: 400,
    title: 'In this order there are no further pages',
    when: 'Pages in the order of scores end at `maxDepth`.',
    action: 'Type more, or use `order=alphabetical`, which has no limit.',
    fields: '`depth`, `maxDepth`',
  },
  'not-in-guild': {
    status: 403,
    title: 'Only members of the guild may do this',
    when: "`by` is no name of the guild's address book. For an empty guild, the request doesn't add `by`.",
    action: 'Let a member add the name, or create the guild.',
    fields: '`guild`, `player`',
  },
  'unknown-name': {
    status: 404,
    title: 'The address book has no such name',
    when: 'The name was never added, or was removed.',
    action: 'PUT the name.',
    fields: '`guild`, `name`',
  },
  'too-many-names': {
    status: 409,
    title: 'The address book has as many names as it may have',
    when: 'The book would have more than `BOOK_MAX_NAMES`.',
    action: 'Remove some names.',
    fields: '`guild`, `size`, `maxNames`',
  },
  'entry-too-large': {
    status: 413,
    title: 'The name has too many words, or too much that is stored with it',
    when: 'Display form and aliases have too many words, or too many bytes together with the payload. In a batch, the names before this one may have been stored.',
    action: 'Make the texts shorter.',
    fields: '`key`, `forms`, `maxForms`, `bytes`, `maxBytes`',
  },
} as const satisfies Record<string, ProblemKind>;
