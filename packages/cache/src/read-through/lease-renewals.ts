/** Renews the leases of running loads, so that leases can be short: a dead process delays others by one lease only. */
import type { EntryStore } from './entry-store.js';

const MAX_BATCH = 500;

export class LeaseRenewals {
  readonly #everyMs: number;
  readonly #held = new Map<EntryStore, Map<string, string>>();
  #timer: NodeJS.Timeout | undefined;

  constructor(leaseMs: number) {
    this.#everyMs = leaseMs / 3;
  }

  /** Renews the lease until the returned function is called. */
  hold(shard: EntryStore, key: string, token: string): () => void {
    const held = this.#held.get(shard) ?? new Map<string, string>();
    this.#held.set(shard, held.set(key, token));
    this.#timer ??= setInterval(() => this.#renew(), this.#everyMs).unref();
    return () => {
      if (held.get(key) === token) held.delete(key);
      if (held.size > 0 || this.#held.get(shard) !== held) return;
      this.#held.delete(shard);
      if (this.#held.size > 0) return;
      clearInterval(this.#timer);
      this.#timer = undefined;
    };
  }

  #renew(): void {
    for (const [shard, held] of this.#held) {
      const leases = [...held];
      for (let from = 0; from < leases.length; from += MAX_BATCH) {
        // A lost renewal costs at most a second load: the next one comes before the lease ends.
        shard.renew(new Map(leases.slice(from, from + MAX_BATCH))).catch(() => undefined);
      }
    }
  }
}
