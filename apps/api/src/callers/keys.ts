/**
 * All API keys are one entity, hence one slot, so that a key and its place in the list are written in one step. Few commands
 * go there: a process keeps what it has read for half a second.
 *
 * | Key | Type | Written by | Goes away |
 * |---|---|---|---|
 * | `record:<id>` | HASH `name`, `scopes`, `createdAt`, `rotatedAt`, `lastUsedAt`, and `secret:<SHA-256>` → last valid instant, or empty | put, rotate, uses | when the key is revoked |
 * | `ids` | ZSET, all scores 0, of the ids of keys | put | member: when the key is revoked |
 */
import { KeySpace } from '@mortise/redis';

export interface CallerKeys {
  readonly ids: string;
  readonly recordOf: (id: string) => string;
}

export function callerKeys(prefix: string): CallerKeys {
  const entity = new KeySpace('callers', prefix).entity('keys');
  return { ids: entity.key('ids'), recordOf: (id) => entity.key('record', id) };
}
