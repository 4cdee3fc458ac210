import { onAbort, requireFunction } from '@mortise/redis';
import type { AcquireOptions } from '../options.js';

/** `using` of every lock: acquires the lock, runs `section` under the lease, and releases it. */
export async function runUnder<
  Options extends AcquireOptions,
  L extends AsyncDisposable & { readonly signal: AbortSignal },
  Result,
>(
  lock: { acquire(options: Options): Promise<L> },
  section: (signal: AbortSignal, lease: L) => Promise<Result> | Result,
  options: Options,
): Promise<Result> {
  requireFunction('section', section);
  await using lease = await lock.acquire(options);
  const { signal } = options;
  // Not AbortSignal.any: a long-lived signal keeps 60 bytes for each signal made from it.
  const controller = new AbortController();
  const ends = (signal ? [lease.signal, signal] : [lease.signal]).map((source) => {
    const abort = (): void => controller.abort(source.reason);
    if (source.aborted) abort();
    return onAbort(source, abort);
  });
  try {
    const result = await section(controller.signal, lease);
    lease.signal.throwIfAborted();
    return result;
  } finally {
    for (const end of ends) end();
  }
}
