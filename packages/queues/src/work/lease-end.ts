/**
 * The earliest end of a lease that was requested at `sentAt`, on the same clock (`performance.now()`). The server counts in
 * whole ms and rounds the start down, so a lease may end almost 1 ms early.
 */
export function leaseEnd(sentAt: number, leaseMs: number): number {
  return sentAt + leaseMs - 1;
}
