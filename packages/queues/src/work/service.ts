/** A part of a worker that runs from `start` to `stop`. Both are idempotent. */
export interface Service {
  start(): void;
  /** Ends running work and timers. Waits up to `withinMs` for calls that must still reach Redis. */
  stop(withinMs: number): Promise<void>;
}
