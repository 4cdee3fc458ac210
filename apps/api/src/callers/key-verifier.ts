/**
 * Checks API keys. A process keeps a valid key for half a second, so a revoked one is refused everywhere within that time,
 * without a message between processes. Only successes are kept: a wrong secret costs one read of Redis, and so does an
 * unknown id.
 */
import { Inject, Injectable } from '@nestjs/common';

import { matchesAny, parseApiKey } from '../api-key.js';
import type { ParsedKey } from '../api-key.js';
import type { Config } from '../config.js';
import { DEFAULT_TENANT } from '../tenants/tenancy.js';
import { CONFIG } from '../tokens.js';
import { KeyStore } from './key-store.js';
import type { KeyRecord } from './key-store.js';
import type { Principal } from './principal.js';
import { SCOPES } from './scopes.js';

const KEPT_MS = 500;
const MAX_KEPT = 10_000;
/** How often a process writes that a key is used. */
const USE_MS = 60_000;

/** The rights of a key, the same for each of its secrets. */
type Rights = Omit<Principal, 'recheck' | 'proof'>;

interface Kept {
  readonly hashes: KeyRecord['hashes'];
  readonly rights: Rights;
  /** When the read began. */
  readonly readAt: number;
}

@Injectable()
export class KeyVerifier {
  readonly #admin: (ParsedKey & { readonly rights: Rights }) | undefined;
  readonly #kept = new Map<string, Kept>();
  readonly #notedAt = new Map<string, number>();

  constructor(
    private readonly store: KeyStore,
    @Inject(CONFIG) { ADMIN_KEY: admin }: Config,
  ) {
    const rights = { tenant: DEFAULT_TENANT, scopes: new Set(SCOPES) };
    this.#admin = admin && { ...admin, rights: { keyId: admin.id, ...rights } };
  }

  /** Undefined when the key isn't valid. Throws errors of Redis. */
  async verify(text: string): Promise<Principal | undefined> {
    const given = parseApiKey(text);
    return given && this.verifyHash(given);
  }

  /** The same, of a key whose hash was kept. */
  async verifyHash(given: ParsedKey): Promise<Principal | undefined> {
    const { id, hash } = given;
    if (this.#admin && this.isAdmin(id))
      return matchesAny(hash, [this.#admin.hash]) ? this.#principalOf(given, this.#admin.rights) : undefined;
    const kept = this.#kept.get(id);
    const isFresh = kept !== undefined && performance.now() - kept.readAt < KEPT_MS;
    if (isFresh && matchesAny(hash, kept.hashes)) return this.#principalOf(given, kept.rights);
    // A kept record doesn't have the secret of a rotation a moment ago.
    const readAt = performance.now();
    const record = await this.store.read(id);
    if (!matchesAny(hash, record?.hashes ?? []) || !record) {
      if (!record) this.#kept.delete(id);
      return undefined;
    }
    const { tenant, subject, limit, hashes } = record;
    const rights = {
      keyId: id,
      tenant,
      ...(subject !== null && { subject }),
      ...(limit !== null && { limit }),
      scopes: new Set(record.scopes),
    };
    remember(this.#kept, id, { hashes, rights, readAt });
    this.#noteUse(id);
    return this.#principalOf(given, rights);
  }

  /** Whether it is the id of `ADMIN_KEY`. */
  isAdmin(id: string): boolean {
    return this.#admin?.id === id;
  }

  /** Forgets what this process has read of a key that it changed. */
  forget(id: string): void {
    this.#kept.delete(id);
  }

  /** Each secret of a key may end before the others. */
  #principalOf(given: ParsedKey, rights: Rights): Principal {
    const proof = { keyId: given.id, hash: given.hash.toString('hex') };
    return { ...rights, proof, recheck: () => this.verifyHash(given) };
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
