/**
 * Runs `callback` after all promise callbacks of the present phase of the event loop, before timers and I/O. At that moment
 * every call that one reply triggered has been made.
 */
export function afterMicrotasks(callback: () => void): void {
  void Promise.resolve().then(() => process.nextTick(callback));
}
