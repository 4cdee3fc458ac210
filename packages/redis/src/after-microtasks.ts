/**
 * Runs `callback` after all promise callbacks of the present phase of the event loop, before timers and I/O. By then, all calls
 * that one reply has triggered are made.
 */
export function afterMicrotasks(callback: () => void): void {
  void Promise.resolve().then(() => process.nextTick(callback));
}
