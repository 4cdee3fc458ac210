/**
 * Every problem that the API answers with (RFC 9457). `type` is `PROBLEM_BASE` and the slug, and is what clients branch
 * on; it never changes. `GET /problems/<slug>` answers with it, and the tables of docs/service/reference/problems.md are made from it
 * (`UPDATE_DOCS=1` with test/problems.test.ts).
 *
 * Refusals of the market, of locks, of queues, of messaging and of address books come by their code: ERR_PRICE_CHANGED is `price-changed`.
 */
import { ADDRESS_BOOKS_PROBLEMS } from './catalogue/address-books.js';
import { CACHE_PROBLEMS } from './catalogue/cache.js';
import { CALLERS_PROBLEMS } from './catalogue/callers.js';
import { FILES_PROBLEMS } from './catalogue/files.js';
import { LOCKS_PROBLEMS } from './catalogue/locks.js';
import { MARKET_PROBLEMS } from './catalogue/market.js';
import { MESSAGING_PROBLEMS } from './catalogue/messaging.js';
import { QUEUES_PROBLEMS } from './catalogue/queues.js';
import { REQUEST_PROBLEMS } from './catalogue/request.js';
import { SERVICE_PROBLEMS } from './catalogue/service.js';
import { STREAMS_PROBLEMS } from './catalogue/streams.js';
import { WEBHOOKS_PROBLEMS } from './catalogue/webhooks.js';
import type { ProblemKind } from './catalogue/problem-kind.js';

export const PROBLEM_BASE = 'https://mortise.dev/problems/';

/** By the heading that they have on the page. */
export const PROBLEMS_BY_HEADING: Readonly<Record<string, Readonly<Record<string, ProblemKind>>>> = {
  'The request': REQUEST_PROBLEMS,
  'The caller': CALLERS_PROBLEMS,
  'The market': MARKET_PROBLEMS,
  'Tasks and queues': QUEUES_PROBLEMS,
  Webhooks: WEBHOOKS_PROBLEMS,
  'Locks and semaphores': LOCKS_PROBLEMS,
  'Mailboxes and chats': MESSAGING_PROBLEMS,
  Files: FILES_PROBLEMS,
  'Streams of events': STREAMS_PROBLEMS,
  'Address books': ADDRESS_BOOKS_PROBLEMS,
  Cache: CACHE_PROBLEMS,
  'The service': SERVICE_PROBLEMS,
};

export const CATALOGUE = {
  ...REQUEST_PROBLEMS,
  ...CALLERS_PROBLEMS,
  ...MARKET_PROBLEMS,
  ...QUEUES_PROBLEMS,
  ...WEBHOOKS_PROBLEMS,
  ...LOCKS_PROBLEMS,
  ...MESSAGING_PROBLEMS,
  ...FILES_PROBLEMS,
  ...STREAMS_PROBLEMS,
  ...ADDRESS_BOOKS_PROBLEMS,
  ...CACHE_PROBLEMS,
  ...SERVICE_PROBLEMS,
} as const;

export type ProblemSlug = keyof typeof CATALOGUE;

export function isProblemSlug(text: string): text is ProblemSlug {
  return Object.hasOwn(CATALOGUE, text);
}

export function kindOf(slug: ProblemSlug): ProblemKind {
  return CATALOGUE[slug];
}
