/**
 * Sessions of browsers, which cannot send a header with a stream of events. A session stands for the credential that opened it, and ends
 * with it. Its cookie counts only for a request of an own page, as the browser says.
 */
import { createHash, randomBytes } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

import { Inject, Injectable } from '@nestjs/common';
import { callRedis } from '@mortise/redis';
import type { RedisClient } from '@mortise/redis';

import type { Config } from '../config.js';
import { Problem } from '../problems/problem.js';
import { CONFIG, REDIS } from '../tokens.js';
import { KeyVerifier } from './key-verifier.js';
import type { CallerKeys } from './keys.js';
import { callerKeys } from './keys.js';
import type { Principal, Proof } from './principal.js';
import { TokenVerifier } from './token-verifier.js';

const TOKEN_BYTES = 32;
const COOKIE = /(?:^|;\s*)mortise_session=([A-Za-z0-9_-]{43})(?:;|$)/;

@Injectable()
export class SessionVerifier {
  readonly #redis: RedisClient;
  readonly #keys: CallerKeys;
  readonly #ttlMs: number;

  constructor(
    @Inject(REDIS) redis: RedisClient,
    @Inject(CONFIG) { MORTISE_PREFIX: prefix, SESSION_TTL_MS }: Config,
    private readonly apiKeys: KeyVerifier,
    private readonly tokens: TokenVerifier,
  ) {
    this.#redis = redis;
    this.#keys = callerKeys(prefix);
    this.#ttlMs = SESSION_TTL_MS;
  }

  /** The token of a session in the header `Cookie`. */
  static tokenOf(cookie: string | undefined): string | undefined {
    return COOKIE.exec(cookie ?? '')?.[1];
  }

  /** Opens a session that stands for the credential, and returns its token. One round trip. */
  async open(proof: Proof): Promise<string> {
    const token = randomBytes(TOKEN_BYTES).toString('base64url');
    await callRedis(this.#redis, 'set', [this.#keyOf(token), JSON.stringify(proof), 'PX', this.#ttlMs]);
    return token;
  }

  /** One round trip. Repeating it is safe. */
  async end(token: string): Promise<void> {
    await callRedis(this.#redis, 'del', [this.#keyOf(token)]);
  }

  /**
   * Undefined when the session has ended, or its credential. Throws `foreign-origin` for a request that is not an own page's, and
   * errors of Redis. One round trip more than for the credential.
   */
  async verify(token: string, method: string, headers: IncomingHttpHeaders): Promise<Principal | undefined> {
    requireOwnPage(method, headers);
    return this.#principalOf(token);
  }

  async #principalOf(token: string): Promise<Principal | undefined> {
    const stored = (await callRedis(this.#redis, 'get', [this.#keyOf(token)])) as string | null;
    if (stored === null) return undefined;
    const proof = JSON.parse(stored) as Proof;
    const principal =
      'claims' in proof
        ? await this.tokens.verifyClaims(proof.claims)
        : await this.apiKeys.verifyHash({ id: proof.keyId, hash: Buffer.from(proof.hash, 'hex') });
    return principal && { ...principal, isSession: true, recheck: () => this.#principalOf(token) };
  }

  /** The token itself is stored nowhere. */
  #keyOf(token: string): string {
    return this.#keys.sessionOf(createHash('sha256').update(token).digest('hex'));
  }
}

/**
 * A browser without `Sec-Fetch-Site` names the origin of a change, and a foreign one is refused before. It names no origin when a page
 * reads from its own server. `none`: the user typed the address, or opened a bookmark.
 */
function requireOwnPage(method: string, { 'sec-fetch-site': site, origin }: IncomingHttpHeaders): void {
  const isRead = method === 'GET' || method === 'HEAD';
  const isTyped = site === 'none' && isRead;
  const isOwn = site === undefined ? origin !== undefined && !isRead : site === 'same-origin' || isTyped;
  if (!isOwn) throw new Problem('foreign-origin', 'a session is for pages of this server');
}
