import { groupBy } from './group-by.js';
import type { Change } from '../../outbox.js';

/** The duration of a quick load. */
const MIN_RETRY_MS = 25;
const MAX_RETRY_MS = 1_000;

/** Changes of rows that are being loaded. They are tried again soon, and less often while the loads last. */
export class Deferred {
  readonly #changes = new Map<string, Change>();
  #retryMs = MIN_RETRY_MS;
  #retryAt = 0;

  get changes(): readonly Change[] {
    return [...this.#changes.values()];
  }

  /** When to try them again, in ms from now; Infinity without any. */
  get dueInMs(): number {
    return this.#changes.size === 0 ? Infinity : this.#retryAt - performance.now();
  }

  /** New changes by row, in their order, with the deferred ones that are due or whose row has changed again. */
  with(changes: readonly Change[]): Map<string, Change[]> {
    const byId = groupBy(changes, ({ id }) => id);
    const isDue = this.dueInMs <= 0;
    for (const [id, change] of this.#changes) {
      const own = byId.get(id);
      if (own) own.unshift(change);
      else if (isDue) byId.set(id, [change]);
    }
    return byId;
  }

  /** Of the rows tried, only these changes remain deferred. */
  replace(ids: Iterable<string>, waiting: readonly Change[]): void {
    const before = this.#changes.size;
    const wasDue = this.dueInMs <= 0;
    for (const id of ids) this.#changes.delete(id);
    const isMoving = this.#changes.size + waiting.length < before;
    for (const change of waiting) this.#changes.set(change.id, change);
    // New changes don't postpone the deferred ones.
    if (before > 0 && !wasDue) return;
    this.#retryMs = before === 0 || isMoving ? MIN_RETRY_MS : Math.min(MAX_RETRY_MS, 2 * this.#retryMs);
    this.#retryAt = performance.now() + this.#retryMs;
  }
}
