/**
 * A scenario is one piece of work that several competitors do in turn: A B C, then B C A, and so on, so that a machine
 * whose speed drifts treats them alike. Each measurement has a server of its own, warmed up before the clock starts.
 */
import type { Redis } from 'ioredis';

export interface Competitor {
  readonly name: string;
  /** Version of the library, or what it is. */
  readonly version: string;
  /** Prepares the work on an empty server; what it returns is measured. */
  prepare(redis: Redis): Promise<Work>;
}

export interface Work {
  /** Does the work once and says how many operations that was, with further figures of its own. */
  run(): Promise<Outcome>;
  /** Closes what `prepare` opened. */
  close(): Promise<void>;
}

export interface Outcome {
  readonly operations: number;
  /** Named figures beside the common ones, such as `p99 ms`. */
  readonly figures?: Readonly<Record<string, number>>;
}

/** What a figure of a competitor has to reach. */
export interface Bar {
  readonly competitor: string;
  readonly figure: string;
  readonly atMost?: number;
  readonly atLeast?: number;
}

export interface Scenario {
  /** `<group>.<name>`; the group is what `npm run bench -- <group>` selects. */
  readonly name: string;
  readonly title: string;
  /** What one operation is. */
  readonly operation: string;
  readonly competitors: readonly Competitor[];
  readonly bars?: readonly Bar[];
}
