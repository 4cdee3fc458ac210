/** Checks the credential and the scope of each request, before its body is read. */
import type { IncomingHttpHeaders } from 'node:http';

import { Inject, Injectable } from '@nestjs/common';
import type { FastifyInstance } from 'fastify';

import type { Config } from '../config.js';
import { Problem } from '../problems/problem.js';
import { CONFIG } from '../tokens.js';
import { KeyVerifier } from './key-verifier.js';
import type { Principal } from './principal.js';
import { ANYONE, requireScope } from './principal.js';
import { accessOf } from './route-scopes.js';
import type { Scope } from './scopes.js';

@Injectable()
export class Authentication {
  readonly #isOff: boolean;

  constructor(
    private readonly keys: KeyVerifier,
    @Inject(CONFIG) { AUTH }: Config,
  ) {
    this.#isOff = AUTH !== 'keys';
  }

  /** Guards the routes that the server gets from now on. A route without a scope ends the boot. */
  guard(server: FastifyInstance): void {
    server.decorateRequest('principal', null);
    server.addHook('onRoute', ({ method, url }) => {
      for (const each of [method].flat()) accessOf(each, url);
    });
    server.addHook('onRequest', async (request) => {
      const { url } = request.routeOptions;
      // An unknown address, or one that does not take the method.
      if (request.is404 || url === undefined) return;
      const access = accessOf(request.method, url);
      if (access !== 'public') request.principal = await this.require(request.headers, access);
    });
  }

  /** The sender of a request. Throws the problems `unauthenticated` and `scope-missing`, and errors of Redis. */
  async require({ authorization }: IncomingHttpHeaders, scope: Scope): Promise<Principal> {
    const principal = this.#isOff ? ANYONE : await this.#principalOf(authorization);
    requireScope(principal, scope);
    return principal;
  }

  async #principalOf(authorization: string | undefined): Promise<Principal> {
    if (authorization === undefined)
      throw new Problem('unauthenticated', 'the request has no header Authorization');
    const [, credential] = /^Bearer +([^\s]+)$/i.exec(authorization) ?? [];
    const principal = credential === undefined ? undefined : await this.keys.verify(credential);
    // The same words for every reason: an unknown id must not differ from a wrong secret.
    if (!principal) throw new Problem('unauthenticated', 'the credential is not valid');
    return principal;
  }
}
