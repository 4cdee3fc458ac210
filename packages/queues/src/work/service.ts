/** A part of a worker that runs from `start` to `stop`. Both are idempotent. */
export interface Service {
  start(): void;
  /** Ends what runs and its timers; waits up to `withinMs` for what must still reach Redis. */
  stop(withinMs: number): Promise<void>;
}
