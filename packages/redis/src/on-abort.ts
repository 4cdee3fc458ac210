/**
 * One listener for each signal, however much it is to end: Node warns of a leak when a signal has more than ten, and one that
 * ends all waits of a process, when it shuts down, has thousands.
 */
const callbacksOf = new WeakMap<AbortSignal, Set<() => void>>();

/**
 * Calls back when the signal is aborted, which it isn't yet. Returns what undoes it. O(1). The callback must not throw: others
 * come behind it. Another callback is another function.
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
