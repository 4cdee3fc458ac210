/** Redis as the API tells it to its pages. The console takes these shapes from here. */
import type { Finding } from '@mortise/app-common/doctor';

/** Of one master. Null where the server refuses to tell, as managed services may. */
export interface NodeFigures {
  readonly address: string;
  readonly version: string | null;
  readonly usedBytes: number | null;
  /** 0: no limit. */
  readonly maxBytes: number | null;
  readonly policy: string | null;
  readonly opsPerSecond: number | null;
  readonly clients: number | null;
  /** Keys that the policy has evicted since the start of the server. */
  readonly evictedKeys: number | null;
}

/** The Cluster, as one of its nodes sees it. */
export interface ClusterFigures {
  /** Of 16,384: those that a node serves that can be reached. */
  readonly slotsCovered: number;
  readonly masters: number;
  /** Whether the node serves commands. */
  readonly isOk: boolean;
}

export interface LiveFigures {
  readonly nodes: readonly NodeFigures[];
  /** Null: a server without Cluster, or it refuses to tell. */
  readonly cluster: ClusterFigures | null;
}

export interface SlowCommand {
  readonly address: string;
  readonly at: number;
  readonly micros: number;
  /** The name alone: arguments have names and payloads. */
  readonly command: string;
  readonly arguments: number;
}

export interface RedisReport extends LiveFigures {
  readonly slow: readonly SlowCommand[] | null;
  readonly findings: readonly Finding[];
}
