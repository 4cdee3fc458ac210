/** Checks the credential and the scope of each request, before its body is read, and then whom it acts for. */
import type { IncomingHttpHeaders } from 'node:http';

import { Inject, Injectable } from '@nestjs/common';
import type { FastifyInstance } from 'fastify';

import type { Config } from '../config.js';
import { Problem } from '../problems/problem.js';
import { DEFAULT_TENANT, inTenant } from '../tenants/tenancy.js';
import { CONFIG } from '../tokens.js';
import { actorOf, requireActor } from './actors.js';
import { KeyVerifier } from './key-verifier.js';
import type { Principal } from './principal.js';
import { ANYONE, requireScope } from './principal.js';
import type { Access } from './route-scopes.js';
import { accessOf, DOCUMENT, isOfDeployment } from './route-scopes.js';
import { SessionVerifier } from './session-verifier.js';
import { TokenVerifier } from './token-verifier.js';

@Injectable()
export class Authentication {
  readonly #isOff: boolean;
  readonly #areDocsScoped: boolean;
  readonly #isReadOnly: boolean;

  constructor(
    private readonly keys: KeyVerifier,
    private readonly tokens: TokenVerifier,
    private readonly sessions: SessionVerifier,
    @Inject(CONFIG) { AUTH, DOCS, CONSOLE }: Config,
  ) {
    this.#isOff = AUTH !== 'keys';
    this.#areDocsScoped = DOCS === 'scoped';
    this.#isReadOnly = CONSOLE === 'read-only';
  }

  /** Guards the routes that the server gets from now on. A route without a scope ends the boot. */
  guard(server: FastifyInstance): void {
    server.decorateRequest('principal', null);
    server.addHook('onRoute', ({ method, url }) => {
      for (const each of [method].flat()) {
        accessOf(each, url);
        actorOf(each, url);
      }
    });
    server.addHook('onRequest', async (request) => {
      const { url } = request.routeOptions;
      // An unknown address, or one that does not take the method.
      if (request.is404 || url === undefined) return;
      const access = this.#accessOf(request.method, url);
      if (access === 'public') return;
      // Set before it may be refused, for the logs.
      request.principal = await this.#identify(request.method, request.headers);
      if (url !== '/v1/session') this.#requireMayChange(request.method, request.principal);
      if (access !== 'credential') requireScope(request.principal, access);
      if (isOfDeployment(url)) requireDeployment(request.principal);
    });
    // A callback: what a promise starts has the context from before it.
    server.addHook('preValidation', (request, _reply, done) => {
      const { principal } = request;
      if (!principal) {
        done();
        return;
      }
      try {
        requireActor(principal, request);
      } catch (error) {
        done(error as Error);
        return;
      }
      inTenant(principal.tenant, done);
    });
  }

  /**
   * The sender of a request outside of the router. Throws the problems `unauthenticated`, `foreign-origin`, `console-read-only` and
   * `key-set-unavailable`, and errors of Redis.
   */
  async require(headers: IncomingHttpHeaders): Promise<Principal> {
    const principal = await this.#identify('POST', headers);
    this.#requireMayChange('POST', principal);
    return principal;
  }

  /** Sessions of a console that is read-only change nothing. Throws the problem `console-read-only`. */
  #requireMayChange(method: string, { isReadOnly }: Principal): void {
    if (isReadOnly && method !== 'GET' && method !== 'HEAD') throw new Problem('console-read-only');
  }

  #accessOf(method: string, url: string): Access {
    return this.#areDocsScoped && DOCUMENT.test(url) ? 'ops:read' : accessOf(method, url);
  }

  async #identify(method: string, headers: IncomingHttpHeaders): Promise<Principal> {
    if (this.#isOff) return ANYONE;
    const { authorization, cookie } = headers;
    const session = authorization === undefined ? SessionVerifier.tokenOf(cookie) : undefined;
    if (authorization === undefined && session === undefined)
      throw new Problem('unauthenticated', 'the request has no header Authorization');
    const principal =
      session === undefined
        ? await this.#verify(authorization ?? '')
        : await this.sessions.verify(session, method, headers);
    // The same words for every reason: an unknown id must not differ from a wrong secret.
    if (!principal) throw new Problem('unauthenticated', 'the credential is not valid');
    return session !== undefined && this.#isReadOnly ? { ...principal, isReadOnly: true } : principal;
  }

  async #verify(authorization: string): Promise<Principal | undefined> {
    const [, credential] = /^Bearer +([^\s]+)$/i.exec(authorization) ?? [];
    if (credential === undefined) return undefined;
    return credential.startsWith('mk_') ? this.keys.verify(credential) : this.tokens.verify(credential);
  }
}

/** For other tenants these routes are not there. */
function requireDeployment({ tenant }: Principal): void {
  if (tenant !== DEFAULT_TENANT)
    throw new Problem('unknown-route', 'the tenant of the credential has no such route');
}
