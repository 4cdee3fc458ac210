/**
 * The tenant of the request that runs. It comes from the credential alone, and is part of the prefix of every key that the request
 * touches, so an id of another tenant names nothing.
 */
import { AsyncLocalStorage } from 'node:async_hooks';

/**
 * The tenant of the deployment itself. Its keys have the prefix without a tenant, as those of the worker do; it alone has the market,
 * mails, webhooks, cached rows and aggregates.
 */
export const DEFAULT_TENANT = 'default';

export const TENANT_ID = /^[a-z0-9-]{1,32}$/;

const running = new AsyncLocalStorage<string>();

/** Runs `work`, and all that it starts, as a request of this tenant. */
export function inTenant<T>(tenant: string, work: () => T): T {
  return running.run(tenant, work);
}

/** Throws outside of a request: no data are anybody's by default. */
export function currentTenant(): string {
  const tenant = running.getStore();
  if (tenant === undefined) throw new Error('no tenant: a request of one runs by inTenant');
  return tenant;
}

/** The prefix of a tenant's keys: `<prefix>.t.<tenant>`, and `<prefix>` for the tenant of the deployment. */
export function prefixOf(prefix: string, tenant: string): string {
  return tenant === DEFAULT_TENANT ? prefix : `${prefix}.t.${tenant}`;
}
