/** The topic `redis` of the API, as far as the page shows it. */

/** Of a master; null: it refuses to tell. */
export interface NodeFigures {
  readonly address: string;
  readonly version: string | null;
  readonly usedBytes: number | null;
  readonly maxBytes: number | null;
  readonly policy: string | null;
  readonly opsPerSecond: number | null;
  readonly clients: number | null;
  readonly evictedKeys: number | null;
}

export interface ClusterFigures {
  readonly slotsCovered: number;
  readonly masters: number;
  readonly isOk: boolean;
}
