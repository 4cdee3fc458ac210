/**
 * Counts the keys of tenants and their bytes. Redis keeps no such counts, and scripts that kept them would make each write more expensive
 * and miss the keys that expire. So a walk by SCAN visits all keys, on Cluster those of one master after the other. It measures each key:
 * one large key among small ones makes a sample useless.
 *
 * A pause follows each short step, so the walk takes a small share of the time of Redis. As with SCAN, a key that is created, deleted or
 * moved meanwhile counts once, twice, or not at all.
 */
import { setTimeout } from 'node:timers/promises';

import type { RedisClient } from '@mortise/redis';
import { encodeName } from '@mortise/redis';
import type { Redis } from 'ioredis';
import { Cluster } from 'ioredis';

import type { QuotaValues } from '../callers/tenant-store.js';
import { literally } from '../redis/literally.js';
import { prefixOf } from '../tenants/tenancy.js';

/** Keys that one SCAN visits: about 1 ms of Redis with their measures. */
const STEP_KEYS = 500;
const PAUSE_MS = 20;

/** A key on its way to another master. Its node has it, or the next one does. */
const MOVED = /^(?:MOVED|ASK|TRYAGAIN)\b/;

interface Count {
  keys: number;
  /** Measured only for a quota of bytes. */
  bytes?: number;
}

export type UsageByTenant = Readonly<Record<string, Readonly<Count>>>;

/** Whether the keys of a tenant with these quotas are counted. */
export function isCounted(quotas: QuotaValues | undefined): quotas is QuotaValues {
  return quotas?.keys !== undefined || quotas?.bytes !== undefined;
}

/**
 * One walk over all keys.
 *
 * @param quotasOf Called once for each tenant that has keys. Tenants without a quota of keys or bytes are left out.
 * @param signal Ends the walk, which rejects with its reason.
 */
export async function countUsage(
  redis: RedisClient,
  prefix: string,
  quotasOf: (tenant: string) => Promise<QuotaValues | undefined>,
  signal: AbortSignal,
): Promise<UsageByTenant> {
  const stem = encodeName(prefixOf(prefix, ''));
  const stemLength = Buffer.byteLength(stem);
  const counts = new Map<string, Count | undefined>();
  for (const node of nodesOf(redis)) {
    let cursor = '0';
    do {
      const [next, keys] = await node.scanBuffer(cursor, 'MATCH', `${literally(stem)}*`, 'COUNT', STEP_KEYS);
      const measured: [Buffer, Count][] = [];
      for (const key of keys) {
        const tenant = key.toString('latin1', stemLength, key.indexOf(':', stemLength));
        if (!counts.has(tenant)) counts.set(tenant, countOf(await quotasOf(tenant)));
        const count = counts.get(tenant);
        if (!count) continue;
        count.keys += 1;
        if (count.bytes !== undefined) measured.push([key, count]);
      }
      await measure(node, measured);
      cursor = next.toString();
      await setTimeout(PAUSE_MS, undefined, { signal });
    } while (cursor !== '0');
  }
  const counted = [...counts].flatMap(([tenant, count]) => (count ? [[tenant, count] as const] : []));
  return Object.fromEntries(counted);
}

function countOf(quotas: QuotaValues | undefined): Count | undefined {
  if (!isCounted(quotas)) return undefined;
  return quotas.bytes === undefined ? { keys: 0 } : { keys: 0, bytes: 0 };
}

async function measure(node: Redis, keys: readonly (readonly [Buffer, Count])[]): Promise<void> {
  if (keys.length === 0) return;
  const replies = await node.pipeline(keys.map(([key]) => ['memory', 'usage', key])).exec();
  for (const [index, [error, bytes]] of (replies ?? []).entries()) {
    if (error && !MOVED.test(error.message)) throw error;
    // Null for a key that is gone.
    keys[index]![1].bytes! += Number(bytes ?? 0);
  }
}

function nodesOf(redis: RedisClient): Redis[] {
  return redis instanceof Cluster ? redis.nodes('master') : [redis as unknown as Redis];
}
