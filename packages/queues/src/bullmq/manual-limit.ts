/** `rateLimit(ms)` of workers and queues: the workers of this process fetch nothing for that time. */
import type { Store } from './store.js';

const MAX_TIMER_MS = 2 ** 31 - 1;

class ManualLimit {
  until = 0;
  readonly #listeners = new Set<() => void>();
  #timer: NodeJS.Timeout | undefined;

  listen(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  limit(ms: number): void {
    this.until = Date.now() + ms;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.lift(), Math.min(ms, MAX_TIMER_MS));
    this.#timer.unref?.();
    this.#notify();
  }

  lift(): void {
    clearTimeout(this.#timer);
    this.until = 0;
    this.#notify();
  }

  #notify(): void {
    for (const listener of this.#listeners) listener();
  }
}

const limits = new Map<string, ManualLimit>();

export function manualLimitOf(qualifiedName: string): ManualLimit {
  let limit = limits.get(qualifiedName);
  if (!limit) limits.set(qualifiedName, (limit = new ManualLimit()));
  return limit;
}

/** The rate of the whole queue: `limiter` of a worker. */
export async function limitRate(
  { shards }: Store,
  { max, duration }: { max: number; duration: number },
): Promise<void> {
  const rate = { limit: max, periodMs: duration, burst: max };
  await shards.first.configure((values) => ({ ...values, rate }));
}
