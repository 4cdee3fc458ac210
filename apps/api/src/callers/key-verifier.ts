/**
 * Checks API keys. A process keeps a valid key for half a second, so a revoked one is refused everywhere within that time,
 * without a message between processes. Only successes are kept: a wrong secret costs one read of Redis, and so does an
 * unknown id.
 */
import { Inject, Injectable } from '@nestjs/common';

import { matchesAny, parseApiKey } from '../api-key.js';
import type { ParsedKey } from '../api-key.js';
import type { Config } from '../config.js';
import { CONFIG } from '../tokens.js';
import { KeyStore } from './key-store.js';
import type { KeyRecord } from './key-store.js';
import type { Principal } from './principal.js';
import { SCOPES } from './scopes.js';

const KEPT_MS = 500;
const MAX_KEPT = 10_000;
/** How often a process writes that a key is used. */
const USE_MS = 60_000;

interface Kept {
  readonly record: KeyRecord;
  readonly principal: Principal;
  /** When the read began. */
  readonly readAt: number;
}

@Injectable()
export class KeyVerifier {
  readonly #admin: (ParsedKey & { readonly principal: Principal }) | undefined;
  readonly #kept = new Map<string, Kept>();
  readonly #notedAt = new Map<string, number>();

  constructor(
    private readonly store: KeyStore,
    @Inject(CONFIG) { ADMIN_KEY: admin }: Config,
  ) {
    this.#admin = admin && { ...admin, principal: { keyId: admin.id, scopes: new Set(SCOPES) } };
  }

  /** Undefined when the key isn't valid. Throws errors of Redis. */
  async verify(text: string): Promise<Principal | undefined> {
    const given = parseApiKey(text);
    if (!given) return undefined;
    const { id, hash } = given;
    if (this.#admin && this.isAdmin(id))
      return matchesAny(hash, [this.#admin.hash]) ? this.#admin.principal : undefined;
    const kept = this.#kept.get(id);
    const isFresh = kept !== undefined && performance.now() - kept.readAt < KEPT_MS;
    if (isFresh && matchesAny(hash, kept.record.hashes)) return kept.principal;
    // A kept record doesn't have the secret of a rotation a moment ago.
    const readAt = performance.now();
    const record = await this.store.read(id);
    if (!matchesAny(hash, record?.hashes ?? []) || !record) {
      if (!record) this.#kept.delete(id);
      return undefined;
    }
    const principal = { keyId: id, scopes: new Set(record.scopes) };
    remember(this.#kept, id, { record, principal, readAt });
    this.#noteUse(id);
    return principal;
  }

  /** Whether it is the id of `ADMIN_KEY`. */
  isAdmin(id: string): boolean {
    return this.#admin?.id === id;
  }

  /** Forgets what this process has read of a key that it changed. */
  forget(id: string): void {
    this.#kept.delete(id);
  }

  #noteUse(id: string): void {
    const now = performance.now();
    if (now - (this.#notedAt.get(id) ?? -Infinity) < USE_MS) return;
    remember(this.#notedAt, id, now);
    // A lost note shows a use a minute later.
    void this.store.noteUse(id).catch(() => this.#notedAt.delete(id));
  }
}

/** The entry read longest ago goes when there are too many. */
function remember<T>(map: Map<string, T>, id: string, value: T): void {
  map.delete(id);
  const [oldest] = map.keys();
  if (map.size >= MAX_KEPT && oldest !== undefined) map.delete(oldest);
  map.set(id, value);
}
