/**
 * The prefix is `<prefix>.limits`, which no tenant has: theirs have `.t.`. The rate limiters of requests lie there, and the lock of the
 * process that counts.
 *
 * | Key | Type | Written by | Goes away |
 * |---|---|---|---|
 * | `{usage}:counts` | STRING, JSON of the last counts of all tenants with a quota of keys or bytes | each count | never: the next count replaces it |
 * | `{usage}:fresh` | STRING, while nobody counts again | each count | `QUOTA_COUNT_MS` later |
 */
import { KeySpace } from '@mortise/redis';

export interface UsageKeys {
  readonly counts: string;
  readonly fresh: string;
}

export function limitsPrefix(prefix: string): string {
  return `${prefix}.limits`;
}

export function usageKeys(prefix: string): UsageKeys {
  const entity = new KeySpace('api', limitsPrefix(prefix)).entity('usage');
  return { counts: entity.key('counts'), fresh: entity.key('fresh') };
}
