const GRACE_MS = 60_000;

/**
 * Ends a run whose tests are over but whose process stays alive, because something was left open (by a test that failed half
 * way, say): as a failure that names what is open. Jest itself would wait for it for ever, and hide why.
 */
module.exports = class EndReporter {
  onRunComplete() {
    // Without `unref` the timer itself would keep the process alive.
    setTimeout(() => {
      const open = process.getActiveResourcesInfo().join(', ');
      console.error(`\nThe tests ended ${GRACE_MS / 1000} s ago, but something is still open: ${open}`);
      process.exit(1);
    }, GRACE_MS).unref();
  }
};
