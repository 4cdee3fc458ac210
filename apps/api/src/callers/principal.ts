import type { JWTPayload } from 'jose';

import type { Rate } from '../rate.js';
import { Problem } from '../problems/problem.js';
import { DEFAULT_TENANT } from '../tenants/tenancy.js';
import type { Scope } from './scopes.js';
import { SCOPES } from './scopes.js';

/** The verified part of a credential, as a session keeps it: the SHA-256 of a secret in hex, or the claims of a token. */
export type Proof = { readonly keyId: string; readonly hash: string } | { readonly claims: JWTPayload };

/** The sender of a request, as its credential says. */
export interface Principal {
  /** The id of the API key; undefined for a token, and with `AUTH=off`. */
  readonly keyId?: string;
  /** Undefined with `AUTH=off`. */
  readonly proof?: Proof;
  readonly tenant: string;
  /** Whom it may act for; undefined: for anybody. */
  readonly subject?: string;
  readonly scopes: ReadonlySet<Scope>;
  /** It came with the cookie of a session. */
  readonly isSession?: true;
  /** A session of a console that is read-only. */
  readonly isReadOnly?: true;
  /** Of its requests; undefined: KEY_LIMIT. */
  readonly limit?: Rate;
  /** Checks the credential again; undefined when it is no longer valid. Throws errors of Redis. */
  readonly recheck: () => Promise<Principal | undefined>;
}

/** Everybody, with `AUTH=off`. */
export const ANYONE: Principal = {
  tenant: DEFAULT_TENANT,
  scopes: new Set(SCOPES),
  recheck: () => Promise.resolve(ANYONE),
};

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

/** Throws the problem `subject-mismatch` for somebody whom the credential doesn't act for. */
export function requireSubject({ subject }: Principal, actor: unknown): void {
  if (subject !== undefined && actor !== subject)
    throw new Problem('subject-mismatch', `the credential acts for "${subject}" alone`, { subject });
}
