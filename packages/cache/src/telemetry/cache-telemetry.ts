/** The counters and histograms of caches and refreshers. A telemetry that throws affects neither reads nor refreshes. */
import { SafeTelemetry } from '@mortise/redis';
import type { Telemetry } from '@mortise/redis';
import { CHANGES, FEED_CHANGES, FEED_ROWS, LATE, LOADS, READS, REFUSED, ROWS } from './metrics.js';

type Kind = 'entries' | 'rows';
/** `near`: from the near tier; `stale`: past its `ttlMs`; `unavailable`: Redis did not answer. */
export type ReadResult = 'near' | 'hit' | 'stale' | 'miss' | 'unavailable';

/** The outcome of a batch. */
export interface BatchOutcome {
  readonly rows: Readonly<Record<'stored' | 'unchanged' | 'missing' | 'failed' | 'skipped', number>>;
  readonly refused: number;
  readonly lateMs: number;
}

const RESULT = 'mortise.cache.result';
const OUTCOME = 'mortise.cache.outcome';

export class CacheTelemetry {
  readonly #telemetry: SafeTelemetry;

  /** Undefined without a telemetry. Throws TypeError for an invalid one. */
  static for(telemetry: Telemetry | undefined, kind: Kind, name: string): CacheTelemetry | undefined {
    return telemetry === undefined ? undefined : new CacheTelemetry(telemetry, kind, name);
  }

  private constructor(telemetry: Telemetry, kind: Kind, name: string) {
    // Names of caches and tables only: keys and rows are too many for a metric.
    this.#telemetry = new SafeTelemetry(telemetry, {
      'mortise.cache.kind': kind,
      'mortise.cache.name': name,
    });
  }

  changed(count: number): void {
    this.#telemetry.count(CHANGES, count);
  }

  read(result: ReadResult): void {
    this.#telemetry.count(READS, 1, { [RESULT]: result });
  }

  loaded(ms: number, isFailed: boolean): void {
    this.#telemetry.record(LOADS, ms / 1_000, { [OUTCOME]: isFailed ? 'failed' : 'loaded' });
  }

  fed(changes: number): void {
    this.#telemetry.count(FEED_CHANGES, changes);
  }

  marked(rows: number): void {
    this.#telemetry.count(FEED_ROWS, rows);
  }

  refreshed({ rows, refused, lateMs }: BatchOutcome): void {
    for (const [outcome, count] of Object.entries(rows))
      this.#telemetry.count(ROWS, count, { [OUTCOME]: outcome });
    this.#telemetry.count(REFUSED, refused);
    this.#telemetry.record(LATE, lateMs / 1_000);
  }
}
