/** The keys and bytes of tenants with such quotas, read at each scrape. */
import type { Metrics } from '@mortise/app-common/operations';
import { Gauge } from 'prom-client';

import type { Usage } from '../limits/usage.js';

/** The most tenants of a scrape: each is two series. */
const MAX_TENANTS = 100;

export function watchUsage({ registry }: Metrics, usage: Usage): void {
  const last = () => usage.last().catch(() => undefined);
  const used = new Gauge({
    name: 'mortise_tenant_usage',
    help: 'Keys, and bytes, of the tenants with such quotas, as of the last count',
    labelNames: ['tenant', 'kind'],
    registers: [registry],
    collect: async () => {
      const tenants = Object.entries((await last())?.tenants ?? {}).toSorted(byName);
      used.reset();
      for (const [tenant, { keys, bytes }] of tenants.slice(0, MAX_TENANTS)) {
        used.set({ tenant, kind: 'keys' }, keys);
        if (bytes !== undefined) used.set({ tenant, kind: 'bytes' }, bytes);
      }
    },
  });
  const countedAt = new Gauge({
    name: 'mortise_tenant_usage_timestamp_seconds',
    help: 'When the last count of the keys of tenants began; 0 before the first one',
    registers: [registry],
    collect: async () => {
      countedAt.set(((await last())?.countedAt ?? 0) / 1_000);
    },
  });
}

function byName([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  return a < b ? -1 : 1;
}
