/** The longest delay of a timer of Node: 24.8 days. A longer one would fire at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/**
 * Calls back after `ms`, never earlier, and never at all for Infinity. Returns a function that cancels the call. Unlike
 * `setTimeout`, the function also works for delays beyond 24.8 days.
 */
export function callAfter(ms: number, callback: () => void): () => void {
  if (ms === Infinity) return () => undefined;
  const at = performance.now() + ms;
  let timer: NodeJS.Timeout;
  const arm = (leftMs: number): void => {
    timer = setTimeout(look, Math.min(Math.ceil(leftMs), MAX_TIMER_MS));
  };
  const look = (): void => {
    const leftMs = at - performance.now();
    if (leftMs > 0) arm(leftMs);
    else callback();
  };
  arm(ms);
  return () => clearTimeout(timer);
}
