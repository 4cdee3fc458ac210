const CHECK_MS = 250;

/**
 * Calls back once the process that started this program has gone: npm was killed, or the terminal is closed. The scripts of
 * package.json begin with `exec`, so that npm is the parent, not a shell that outlives it. Call it before anything else.
 */
export function onInvokerGone(callback) {
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    callback();
  }, CHECK_MS);
  timer.unref();
}
