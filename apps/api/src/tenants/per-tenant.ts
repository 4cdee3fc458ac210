import { currentTenant, prefixOf } from './tenancy.js';

/** As many as there may be tenants. */
export const MAX_TENANTS = 1_000;

/** A service with one object for each tenant, made with the prefix of its keys at its first request. */
export class PerTenant<Service> {
  readonly #prefix: string;
  readonly #make: (prefix: string) => Service;
  readonly #made = new Map<string, Service>();

  constructor(prefix: string, make: (prefix: string) => Service) {
    this.#prefix = prefix;
    this.#make = make;
  }

  /** That of the request that runs. Throws outside of a request. */
  get current(): Service {
    return this.of(currentTenant());
  }

  of(tenant: string): Service {
    const made = this.#made.get(tenant);
    if (made !== undefined) return made;
    const service = this.#make(prefixOf(this.#prefix, tenant));
    const [oldest] = this.#made.keys();
    // Those of tenants that were removed.
    if (this.#made.size > MAX_TENANTS && oldest !== undefined) this.#made.delete(oldest);
    this.#made.set(tenant, service);
    return service;
  }
}
