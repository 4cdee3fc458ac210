import { Problem } from '../problems/problem.js';
import type { Scope } from './scopes.js';
import { SCOPES } from './scopes.js';

/** The sender of a request, as its credential says. */
export interface Principal {
  /** The id of the API key; undefined with `AUTH=off`. */
  readonly keyId?: string;
  readonly scopes: ReadonlySet<Scope>;
}

/** Everybody, with `AUTH=off`. */
export const ANYONE: Principal = { scopes: new Set(SCOPES) };

declare module 'fastify' {
  interface FastifyRequest {
    /** Null on routes that need no credential. */
    principal: Principal | null;
  }
}

/** Throws the problem `scope-missing`. */
export function requireScope({ scopes }: Principal, scope: Scope): void {
  if (!scopes.has(scope)) throw new Problem('scope-missing', `the route needs ${scope}`, { scope });
}
