import type { Lease } from '@mortise/locks';

/**
 * Those who are in a section. A lease that is over before its holder leaves, because this process stood still for a second,
 * does not count: nobody promised more than that it may be alone until then.
 */
export class Occupants {
  readonly #inside = new Set<Pick<Lease, 'isValid'>>();

  /** How many others are in whose leases go on. */
  enter(lease: Pick<Lease, 'isValid'>): number {
    const others = [...this.#inside].filter(({ isValid }) => isValid).length;
    this.#inside.add(lease);
    return others;
  }

  leave(lease: Pick<Lease, 'isValid'>): void {
    this.#inside.delete(lease);
  }
}

/** For a section whose lease was over before it could be renewed: that, too, happens to a process that stands still for a second. */
export function unlessExpired(error: unknown): void {
  const { code, reason } = error as { code?: unknown; reason?: unknown };
  if (code !== 'ERR_LEASE_LOST' || reason !== 'expired') throw error;
}
