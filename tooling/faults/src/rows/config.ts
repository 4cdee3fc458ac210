import type { RedisAddress } from '../locks/config.js';

/** The faults of a source. */
export type Fault = 'none' | 'down' | 'hangs' | 'garbage' | 'few';

/** The settings of a daemon. */
export interface DaemonConfig {
  readonly redis: RedisAddress;
  readonly prefix: string;
  readonly leaseMs: number;
}

/** Each load, as a daemon reports it to whoever has started it. */
export interface Loaded {
  readonly ids: readonly string[];
  readonly fault: Fault;
}

export const TABLE = 'rows';

/** The source: a hash of row id → version, and a key that says what is wrong with it. */
export const sourceKey = (prefix: string): string => `${prefix}:source`;
export const faultKey = (prefix: string): string => `${prefix}:fault`;
