/** The configuration of a worker process, as JSON in its only argument. */
export interface WorkerConfig {
  /** Stands before the number of the contender in its name; unique in the run. */
  readonly worker: string;
  /** Gets one line of JSON for each operation. */
  readonly file: string;
  readonly redis: RedisAddress;
  /** A server of its own, which no nemesis touches: it has the counters that the locks protect. */
  readonly resourceUrl: string;
  readonly prefix: string;
  readonly kind: LockKind;
  /** The names of the locks. Each round takes one of them at random. */
  readonly names: readonly string[];
  readonly contenders: number;
  /** Rounds of all contenders together; then the process ends. Without it: until it is stopped. */
  readonly turns?: number;
  readonly leaseMs: number;
  readonly renew: boolean;
  /** The permits of a semaphore. */
  readonly permits?: number;
  readonly waitMs: number;
  /** The part of the rounds that wait a few ms only and then give up. */
  readonly impatientPart?: number;
  /** How long a section lasts at most; each takes a random part of it. */
  readonly holdMs: number;
  /** The part of the sections that last longer than the lease, which is not renewed then if `renew` is false. */
  readonly overstayPart?: number;
  /** How far the time of day of this process is off. */
  readonly skewMs?: number;
  /** Whether the resource refuses tokens that are smaller than one it has seen. */
  readonly isFenced: boolean;
  /** Whether a call is recorded before its return: a killed process leaves its last ones behind. */
  readonly recordsCalls: boolean;
  /** Ends the process with SIGKILL right after the release of this round was sent. */
  readonly diesAtRelease?: number;
  readonly sabotage?: Sabotage;
}

type LockKind = 'mutex' | 'semaphore' | 'read-write';

/** The broken line in the scripts of this process; see sabotage.ts. */
export type Sabotage = 'release ignores the owner' | 'grant is not recorded' | 'token does not rise';

export type RedisAddress =
  /** With protocol 2, subscriptions have a connection of their own. */
  | { readonly url: string; readonly protocol?: 2 | 3 }
  | {
      readonly sentinels: readonly { host: string; port: number }[];
      readonly name: string;
      readonly natMap?: NatMap;
    }
  | { readonly startupNodes: readonly { host: string; port: number }[]; readonly natMap?: NatMap };

/** The proxy of each server, by the address that servers and sentinels name. */
export type NatMap = Readonly<Record<string, { host: string; port: number }>>;

/** A message of a worker to its parent over IPC. */
export type WorkerMessage = { readonly type: 'ready' } | { readonly type: 'turns'; readonly turns: number };
