/** Checks JSON Web Tokens against the keys that their issuer publishes. Without `JWT_JWKS_URL` no token is valid. */
import { Inject, Injectable } from '@nestjs/common';
import { createRemoteJWKSet, errors, jwtVerify } from 'jose';
import type { JWTPayload, RemoteJWKSet } from 'jose';

import type { Config } from '../config.js';
import { Problem } from '../problems/problem.js';
import { DEFAULT_TENANT, TENANT_ID } from '../tenants/tenancy.js';
import { CONFIG } from '../tokens.js';
import type { Principal } from './principal.js';
import { isScope } from './scopes.js';
import { TenantStore } from './tenant-store.js';

/** Those with a public key: a token must not be signed by what everybody can read. */
const ALGORITHMS = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA'];

/** How far the clocks of the issuer and of this server may be apart, s. */
const CLOCK_TOLERANCE_S = 5;
const FETCH_TIMEOUT_MS = 2_000;
/** An unknown key is looked for again after this, so that made-up ids don't cost the issuer a request each. */
const REFETCH_MS = 2_000;
const MAX_KEYS_AGE_MS = 600_000;

/** Characters of a subject, as OpenID Connect limits them: they become a part of a name in Redis. */
const MAX_SUBJECT = 255;

/** Errors of the key set rather than of the token. */
const OF_KEY_SET: ReadonlySet<string> = new Set(['ERR_JWKS_TIMEOUT', 'ERR_JWKS_INVALID', 'ERR_JOSE_GENERIC']);

@Injectable()
export class TokenVerifier {
  readonly #config: Config;
  readonly #keys: RemoteJWKSet | undefined;

  constructor(
    private readonly tenants: TenantStore,
    @Inject(CONFIG) config: Config,
  ) {
    this.#config = config;
    this.#keys =
      config.JWT_JWKS_URL &&
      createRemoteJWKSet(config.JWT_JWKS_URL, {
        timeoutDuration: FETCH_TIMEOUT_MS,
        cooldownDuration: REFETCH_MS,
        cacheMaxAge: MAX_KEYS_AGE_MS,
      });
  }

  /** Undefined when the token isn't valid. Throws `key-set-unavailable` and errors of Redis. */
  async verify(token: string): Promise<Principal | undefined> {
    const claims = this.#keys && (await this.#claimsOf(token, this.#keys));
    return claims && this.#principalOf(claims);
  }

  /** The same, of a token whose claims were verified. */
  async verifyClaims(claims: JWTPayload): Promise<Principal | undefined> {
    const endsAt = ((claims.exp ?? 0) + CLOCK_TOLERANCE_S) * 1_000;
    return this.#keys && Date.now() < endsAt ? this.#principalOf(claims) : undefined;
  }

  async #claimsOf(token: string, keys: RemoteJWKSet): Promise<JWTPayload | undefined> {
    const { JWT_ISSUER: issuer, JWT_AUDIENCE: audience } = this.#config;
    try {
      const { payload } = await jwtVerify(token, keys, {
        issuer: issuer!,
        audience: audience!,
        algorithms: ALGORITHMS,
        requiredClaims: ['sub', 'exp'],
        clockTolerance: CLOCK_TOLERANCE_S,
      });
      return payload;
    } catch (error) {
      // Errors of another class come from the request to the issuer.
      if (error instanceof errors.JOSEError && !OF_KEY_SET.has(error.code)) return undefined;
      throw new Problem('key-set-unavailable', undefined, {}, { cause: error });
    }
  }

  async #principalOf(claims: JWTPayload): Promise<Principal | undefined> {
    const { sub, scope = '', tenant = DEFAULT_TENANT } = claims;
    const isSound =
      typeof sub === 'string' &&
      sub !== '' &&
      sub.length <= MAX_SUBJECT &&
      sub.isWellFormed() &&
      typeof scope === 'string' &&
      typeof tenant === 'string' &&
      TENANT_ID.test(tenant);
    if (!isSound) return undefined;
    if (tenant !== DEFAULT_TENANT && !(await this.tenants.kept(tenant))) return undefined;
    return {
      tenant,
      subject: sub,
      scopes: new Set(scope.split(' ').filter(isScope)),
      proof: { claims },
      recheck: () => this.verifyClaims(claims),
    };
  }
}
