/** The lease of a receiver, as the process knows it that has it: for who stores elsewhere what it makes of a file, and must not do so when another process reads it. */
export interface ReceiverLease {
  /** Nobody else is the receiver before this instant: ms since 1970, by the server's clock. Moves on with each renewal, every third of the lease. */
  readonly until: number;
  /** How long it is when it is renewed, in ms. */
  readonly leaseMs: number;
  /** Renews it now, as after a pause in which nothing ran. One script. Throws ERR_LEASE_LOST. */
  readonly renew: () => Promise<void>;
}
