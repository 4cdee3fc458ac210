/**
 * All API keys and tenants are one entity, hence one slot, so that a key, its place in the list and the count of its tenant are written
 * in one step. Few commands go there: a process keeps what it has read for half a second. Sessions and the audit log have slots of
 * their own.
 *
 * | Key | Type | Written by | Goes away |
 * |---|---|---|---|
 * | `{keys}:record:<id>` | HASH `tenant`, `name`, `subject`, `scopes`, `limit`, `createdAt`, `rotatedAt`, `lastUsedAt`, and `secret:<SHA-256>` → last valid instant, or empty | put, rotate, uses | when the key is revoked |
 * | `{keys}:ids` | ZSET, all scores 0, of the ids of keys | put | member: when the key is revoked |
 * | `{keys}:tenant:<id>` | HASH `name`, `limit`, `quotas`, `createdAt`, `keys`: how many there are | put, puts and revocations of keys | when the tenant is removed |
 * | `{keys}:tenants` | ZSET, all scores 0, of the ids of tenants | put | member: when the tenant is removed |
 * | `{session:<SHA-256>}:record` | STRING, JSON of what it was opened with | `POST /v1/session` | at its end, `SESSION_TTL_MS` later, or by `DELETE` |
 * | `{audit}:entries` | STREAM of the actions of operators | their requests | about 10,000 are kept |
 */
import { KeySpace } from '@mortise/redis';

export interface CallerKeys {
  readonly ids: string;
  readonly tenants: string;
  readonly audit: string;
  readonly recordOf: (id: string) => string;
  readonly tenantOf: (id: string) => string;
  readonly sessionOf: (hash: string) => string;
}

export function callerKeys(prefix: string): CallerKeys {
  const space = new KeySpace('callers', prefix);
  const entity = space.entity('keys');
  return {
    ids: entity.key('ids'),
    tenants: entity.key('tenants'),
    audit: space.entity('audit').key('entries'),
    recordOf: (id) => entity.key('record', id),
    tenantOf: (id) => entity.key('tenant', id),
    sessionOf: (hash) => space.entity(`session:${hash}`).key('record'),
  };
}
