/**
 * Runs `callback` when all promise callbacks of the present phase of the event loop have run, before timers and I/O:
 * the moment at which everything that one reply has set off is known.
 */
export function afterMicrotasks(callback: () => void): void {
  void Promise.resolve().then(() => process.nextTick(callback));
}
