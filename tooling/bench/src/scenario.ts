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
  prepare(redis: Redis, place: Place): Promise<Work>;
}

export interface Place {
  /** Address of the server that `redis` is connected to, for processes of one's own. */
  readonly url: string;
  /** How long to measure, if the caller wants something else than the scenario: work that lasts a fixed time. */
  readonly seconds: number | undefined;
  /** By what to multiply the amount of data, where the scenario allows it: 1 unless it is only to be seen that it runs. */
  readonly scale: number;
}

export interface Work {
  /** Runs before the clock starts. Without it, the work is run once. */
  warmUp?(): Promise<unknown>;
  /** Does the work once and says how many operations that was, with further figures of its own. */
  run(): Promise<Outcome>;
  /** Closes what `prepare` opened. */
  close(): Promise<void>;
}

export interface Outcome {
  readonly operations: number;
  /** Named figures beside the common ones, such as `p99 ms`. */
  readonly figures?: Readonly<Record<string, number>>;
  /** The costs of other processes than this one. */
  readonly elsewhere?: Spent;
}

export interface Spent {
  /** For how long they counted. */
  readonly seconds: number;
  readonly sentCommands: number;
  readonly cpuMicros: number;
}

/** The limit of a competitor's figure: for the median of the repeats, or for each of them. */
export interface Bar {
  readonly competitor: string;
  readonly figure: string;
  readonly atMost?: number;
  readonly atLeast?: number;
  /** The limits are multiples of what this other competitor reached in the same round. */
  readonly times?: string;
  /**
   * With `times`: what that other competitor reached on the machine that the limits are for. The figure is scaled to it, so that
   * a machine of another speed is asked for the same.
   */
  readonly onReference?: number;
  readonly inEachRepeat?: boolean;
}

/** The shown figures. */
export interface Presentation {
  /** Figures of the table, in order; all of them without it. */
  readonly columns?: readonly string[];
  /** The figure that is drawn. Default `operations/s`. */
  readonly drawn?: string;
  /** Figures of others to stand beside: a row each, as they were printed. */
  readonly printed?: readonly Printed[];
}

export interface Scenario extends Presentation {
  /** `<group>.<name>`; the group is what `npm run bench -- <group>` selects. */
  readonly name: string;
  /** Another group that it is measured with. */
  readonly alsoIn?: string;
  readonly title: string;
  /** One operation, in words. */
  readonly operation: string;
  /** How it is measured, where that isn't obvious: whole sentences. */
  readonly method?: string;
  readonly competitors: readonly Competitor[];
  /** On a server that is a cluster of one, so that slots count. */
  readonly isCluster?: boolean;
  /** Adds a figure: how a figure of each competitor compares with that of this one in the same round. */
  readonly baseline?: { readonly competitor: string; readonly figure: string };
  readonly bars?: readonly Bar[];
  /** Where one measurement takes long and hardly varies: no more repeats than this. */
  readonly mostRepeats?: number;
  /**
   * Neither speed nor CPU is what it measures: all competitors do it at the same time, a server each, and so do those of
   * the other scenarios of this kind.
   */
  readonly isAtOnce?: boolean;
}

export interface Printed {
  readonly name: string;
  readonly figures: Readonly<Record<string, string>>;
}
