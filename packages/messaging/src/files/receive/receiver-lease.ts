/** The lease of a receiver, as its process knows it. Use it where you store results of a file elsewhere: another process may read the file afterwards. */
export interface ReceiverLease {
  /** Nobody else is the receiver before this instant: ms since 1970, by the server's clock. Each renewal, every third of the lease, moves it. */
  readonly until: number;
  /** How long the lease is when it is renewed, in ms. */
  readonly leaseMs: number;
  /** Renews the lease now, as after a pause of the process. One script. Throws ERR_LEASE_LOST. */
  readonly renew: () => Promise<void>;
}
