/**
 * Where a request names the one who acts: a credential with a subject must be theirs. The server refuses to start with a route of
 * these areas that has no row.
 */
import type { FastifyRequest } from 'fastify';

import { Problem } from '../problems/problem.js';
import type { Principal } from './principal.js';
import { requireSubject } from './principal.js';

/** `anybody`: the route names nobody who acts. `others`: it is for credentials that act for others, such as those of a backend. */
type Actor = readonly ['params' | 'query' | 'body', string] | 'anybody' | 'others';

const AREAS: ReadonlySet<string> = new Set([
  'mailboxes',
  'chats',
  'members',
  'contacts',
  'address-books',
  'market',
  'tasks',
]);

/** The whole of an area, unless a route has a row of its own. */
const WHOLE: Readonly<Record<string, Actor>> = {
  mailboxes: ['params', 'recipient'],
  members: ['params', 'member'],
  contacts: ['params', 'user'],
  'address-books': ['query', 'by'],
};

const ROUTES: Readonly<Record<string, Actor>> = {
  'POST /v1/mailboxes/:recipient/messages': ['body', 'from'],
  // Senders see there when the recipient last received.
  'GET /v1/mailboxes/:recipient': 'anybody',

  'POST /v1/chats': ['body', 'sender'],
  // The id of a chat would be enough to read it, or to join it.
  'GET /v1/chats/:id/members': 'others',
  'GET /v1/chats/:id/messages': 'others',
  'DELETE /v1/chats/:id/messages': 'others',
  'PUT /v1/chats/:id/members/:member': 'others',
  'DELETE /v1/chats/:id/members/:member': ['params', 'member'],
  'PUT /v1/chats/:id/members/:member/role': ['body', 'by'],
  'PUT /v1/chats/:id/members/:member/cursor': ['params', 'member'],
  'POST /v1/chats/:id/typing': ['body', 'member'],
  'POST /v1/chats/:id/messages': ['body', 'sender'],
  'PATCH /v1/chats/:id/messages/:messageId': ['body', 'sender'],
  'DELETE /v1/chats/:id/messages/:messageId': ['query', 'sender'],

  // Funds and items come from the game, not from a player.
  'PUT /v1/market/players/:id': 'others',
  'PUT /v1/market/players/:id/items/:itemId': 'others',
  'GET /v1/market/players/:id': ['params', 'id'],
  'GET /v1/market/players/:id/items': 'anybody',
  'POST /v1/market/listings': ['body', 'sellerId'],
  'GET /v1/market/listings': 'anybody',
  'GET /v1/market/listings/:id': 'anybody',
  'DELETE /v1/market/listings/:id': ['query', 'sellerId'],
  'POST /v1/market/listings/:id/purchases': ['body', 'buyerId'],
  'GET /v1/market/figures': 'others',
  'GET /v1/market/sales/:id': 'others',
  'POST /v1/market/password-resets': ['body', 'playerId'],
  // The mail of a sale, with its payload.
  'GET /v1/tasks/:id': 'others',
};

/** Throws for a route that needs a row and has none. */
export function actorOf(method: string, pattern: string): Actor {
  const [, , area = ''] = pattern.split('/');
  if (!AREAS.has(area)) return 'anybody';
  const actor = ROUTES[`${method === 'HEAD' ? 'GET' : method} ${pattern}`] ?? WHOLE[area];
  if (!actor) throw new Error(`${method} ${pattern} has no row in actors.ts`);
  return actor;
}

/** Throws the problem `subject-mismatch`. */
export function requireActor(principal: Principal, request: FastifyRequest): void {
  const { subject } = principal;
  if (subject === undefined) return;
  const actor = actorOf(request.method, request.routeOptions.url ?? '');
  if (actor === 'anybody') return;
  if (actor === 'others')
    throw new Problem('subject-mismatch', 'the route needs a credential without a subject', { subject });
  const [place, name] = actor;
  // A body that is no object names nobody.
  const fields = request[place] as Readonly<Record<string, unknown>> | null | undefined;
  requireSubject(principal, fields?.[name]);
}
