/**
 * When a lease that was asked for at `sentAt` ends at the earliest, on the same clock (`performance.now()`). The server counts
 * leases in whole ms, from the beginning of the one in which it gave them, so they may end by almost 1 ms early.
 */
export function leaseEnd(sentAt: number, leaseMs: number): number {
  return sentAt + leaseMs - 1;
}
