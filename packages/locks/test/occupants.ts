import type { Lease } from '@mortise/locks';

/**
 * The holders in a section. A lease that ends before its holder leaves, because this process was paused for a second, does
 * not count: a holder is alone only until the end of its lease.
 */
export class Occupants {
  readonly #inside = new Set<Pick<Lease, 'isValid'>>();

  /** The number of other holders with valid leases. */
  enter(lease: Pick<Lease, 'isValid'>): number {
    const others = [...this.#inside].filter(({ isValid }) => isValid).length;
    this.#inside.add(lease);
    return others;
  }

  leave(lease: Pick<Lease, 'isValid'>): void {
    this.#inside.delete(lease);
  }
}

/** Ignores the end of a lease before its renewal, which happens to a process that is paused for a second. */
export function unlessExpired(error: unknown): void {
  const { code, reason } = error as { code?: unknown; reason?: unknown };
  if (code !== 'ERR_LEASE_LOST' || reason !== 'expired') throw error;
}
