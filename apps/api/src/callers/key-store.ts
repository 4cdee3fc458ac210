/** The API keys, in Redis. */
import { Inject, Injectable } from '@nestjs/common';
import { callRedis } from '@mortise/redis';
import type { RedisClient } from '@mortise/redis';

import type { Config } from '../config.js';
import { formatRate, parseRate } from '../rate.js';
import type { Rate } from '../rate.js';
import { Problem } from '../problems/problem.js';
import {
  callersPutKey,
  callersReadKey,
  callersRevokeKey,
  callersRotateKey,
  callersUseKey,
} from '../scripts.gen.js';
import { CONFIG, REDIS } from '../tokens.js';
import type { CallerKeys } from './keys.js';
import { callerKeys } from './keys.js';
import type { Scope } from './scopes.js';
import { isScope } from './scopes.js';

const MAX_KEYS = 10_000;
/** The new one, and those of an overlap. */
const MAX_SECRETS = 4;

/** The fields of a key that a caller chooses. */
export interface KeyTerms {
  readonly tenant: string;
  readonly name: string;
  /** Null: it acts for anybody. */
  readonly subject: string | null;
  readonly scopes: readonly Scope[];
  /** Of its requests; null: KEY_LIMIT. */
  readonly limit: Rate | null;
}

export interface KeyRecord extends KeyTerms {
  readonly id: string;
  readonly createdAt: number;
  readonly rotatedAt: number | null;
  /** Up to a minute late. */
  readonly lastUsedAt: number | null;
  /** The SHA-256 of each valid secret. */
  readonly hashes: readonly Buffer[];
}

@Injectable()
export class KeyStore {
  readonly #redis: RedisClient;
  readonly #keys: CallerKeys;

  constructor(@Inject(REDIS) redis: RedisClient, @Inject(CONFIG) { MORTISE_PREFIX: prefix }: Config) {
    this.#redis = redis;
    this.#keys = callerKeys(prefix);
  }

  /**
   * Creates a key with this secret, or changes one that exists and leaves its secrets. Throws `unknown-tenant`, `other-tenant` for a
   * key of another one, and `too-many-keys`.
   */
  async put(
    id: string,
    { tenant, name, subject, scopes, limit }: KeyTerms,
    hash: Buffer,
  ): Promise<'created' | 'changed'> {
    const status = (await callersPutKey.run(
      this.#redis,
      { record: this.#keys.recordOf(id), ids: this.#keys.ids, tenant: this.#keys.tenantOf(tenant) },
      {
        id,
        tenantId: tenant,
        hash: hash.toString('hex'),
        name,
        subject: subject ?? '',
        scopes: scopes.join(' '),
        limit: limit ? formatRate(limit) : '',
        maxKeys: MAX_KEYS,
      },
    )) as 'created' | 'changed' | 'other-tenant' | 'unknown-tenant' | 'too-many-keys';
    if (status === 'created' || status === 'changed') return status;
    throw new Problem(status, undefined, status === 'too-many-keys' ? { limit: MAX_KEYS } : { tenant });
  }

  /** Adds a secret; the others end after `overlapMs`. Throws `unknown-key` and `too-many-secrets`. */
  async rotate(id: string, hash: Buffer, overlapMs: number): Promise<void> {
    const status = (await callersRotateKey.run(
      this.#redis,
      { record: this.#keys.recordOf(id) },
      { hash: hash.toString('hex'), overlapMs, maxSecrets: MAX_SECRETS },
    )) as 'rotated' | 'unknown-key' | 'too-many-secrets';
    if (status === 'unknown-key') throw new Problem('unknown-key', undefined, { id });
    if (status === 'too-many-secrets')
      throw new Problem('too-many-secrets', undefined, { id, limit: MAX_SECRETS });
  }

  /** Whether there was such a key. */
  async revoke(id: string): Promise<boolean> {
    const record = await this.read(id);
    if (!record) return false;
    const tenant = this.#keys.tenantOf(record.tenant);
    const keys = { record: this.#keys.recordOf(id), ids: this.#keys.ids, tenant };
    return (await callersRevokeKey.run(this.#redis, keys, { id })) === 1;
  }

  async read(id: string): Promise<KeyRecord | undefined> {
    const [now, fields] = (await callersReadKey.run(
      this.#redis,
      { record: this.#keys.recordOf(id) },
      {},
    )) as [string, string[]];
    return fields.length === 0 ? undefined : recordOf(id, Number(now), fields);
  }

  async noteUse(id: string): Promise<void> {
    await callersUseKey.run(this.#redis, { record: this.#keys.recordOf(id) }, {});
  }

  /** The ids after `after` in their order, up to one more than `limit`, and the records of the first `limit`. */
  async list(
    limit: number,
    after: string | undefined,
  ): Promise<{ ids: string[]; records: (KeyRecord | undefined)[] }> {
    const from = after === undefined ? '-' : `(${after}`;
    const range = [this.#keys.ids, from, '+', 'BYLEX', 'LIMIT', 0, limit + 1];
    const ids = (await callRedis(this.#redis, 'zrange', range)) as string[];
    return { ids, records: await Promise.all(ids.slice(0, limit).map((id) => this.read(id))) };
  }
}

const SECRET = 'secret:';

function recordOf(id: string, now: number, fields: readonly string[]): KeyRecord {
  const values = new Map<string, string>();
  const hashes: Buffer[] = [];
  for (let i = 0; i < fields.length; i += 2) {
    const [field, value] = [fields[i]!, fields[i + 1]!];
    if (!field.startsWith(SECRET)) values.set(field, value);
    else if (value === '' || Number(value) > now) hashes.push(Buffer.from(field.slice(SECRET.length), 'hex'));
  }
  const instant = (name: string): number | null => {
    const value = values.get(name);
    return value === undefined ? null : Number(value);
  };
  return {
    id,
    tenant: values.get('tenant') ?? '',
    name: values.get('name') ?? '',
    subject: values.get('subject') || null,
    limit: parseRate(values.get('limit') ?? '') ?? null,
    scopes: (values.get('scopes') ?? '').split(' ').filter(isScope),
    createdAt: instant('createdAt') ?? 0,
    rotatedAt: instant('rotatedAt'),
    lastUsedAt: instant('lastUsedAt'),
    hashes,
  };
}
