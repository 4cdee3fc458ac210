/**
 * The lease of a receiver. Check it where you store results of a file elsewhere: another process may read the file
 * afterwards.
 */
export interface ReceiverLease {
  /**
   * No other process is the receiver before this instant: ms since 1970, by the server's clock. Each renewal, every third
   * of the lease, moves it.
   */
  readonly until: number;
  /** Duration of the lease after a renewal, ms. */
  readonly leaseMs: number;
  /** Renews the lease now, for example after a pause of the process. One script. Throws ERR_LEASE_LOST. */
  readonly renew: () => Promise<void>;
}
