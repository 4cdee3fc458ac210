/**
 * One event listener per signal, for any number of callbacks. Node warns of a leak at more than ten listeners, and a signal
 * that ends all waits of a process at shutdown has thousands.
 */
const callbacksOf = new WeakMap<AbortSignal, Set<() => void>>();

/**
 * Calls `callback` when the signal is aborted. The signal must not be aborted yet. Returns a function that removes the
 * callback. O(1). The callback must not throw, since others run after it. Each call needs its own function.
 */
export function onAbort(signal: AbortSignal, callback: () => void): () => void {
  let callbacks = callbacksOf.get(signal);
  if (!callbacks) {
    callbacks = new Set();
    callbacksOf.set(signal, callbacks);
  }
  const all = callbacks;
  if (all.size === 0) signal.addEventListener('abort', runAll);
  all.add(callback);
  return () => {
    if (all.delete(callback) && all.size === 0) signal.removeEventListener('abort', runAll);
  };
}

function runAll(this: AbortSignal): void {
  for (const callback of callbacksOf.get(this) ?? []) callback();
}
