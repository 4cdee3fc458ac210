/** The counters and histograms of caches and refreshers. A telemetry that throws harms neither a read nor a refresh. */
import { ArgumentTypeError } from '@mortise/redis';
import type { Metric, Telemetry, TelemetryAttributes } from '@mortise/redis';
import { LATE, LOADS, READS, REFUSED, ROWS } from './metrics.js';

type Kind = 'entries' | 'rows';
/** `near`: from the near tier; `stale`: past its `ttlMs`; `unavailable`: Redis did not answer. */
export type ReadResult = 'near' | 'hit' | 'stale' | 'miss' | 'unavailable';

/** The outcome of a batch. */
export interface BatchOutcome {
  readonly rows: Readonly<Record<'stored' | 'unchanged' | 'missing' | 'failed' | 'skipped', number>>;
  readonly refused: number;
  readonly lateMs: number;
}

export class CacheTelemetry {
  readonly #telemetry: Telemetry;
  readonly #attributes: TelemetryAttributes;
  /** Cached attributes, because reads are frequent. */
  readonly #byResult = new Map<string, TelemetryAttributes>();
  #hasReported = false;

  /** Undefined without a telemetry. Throws TypeError for an invalid one. */
  static for(telemetry: Telemetry | undefined, kind: Kind, name: string): CacheTelemetry | undefined {
    return telemetry === undefined ? undefined : new CacheTelemetry(telemetry, kind, name);
  }

  private constructor(telemetry: Telemetry, kind: Kind, name: string) {
    if (typeof telemetry !== 'object' || telemetry === null) {
      throw new ArgumentTypeError(
        `telemetry must be an object, got ${telemetry === null ? 'null' : typeof telemetry}`,
      );
    }
    this.#telemetry = telemetry;
    // Names of caches and tables only: keys and rows are too many for a metric.
    this.#attributes = { 'mortise.cache.kind': kind, 'mortise.cache.name': name };
  }

  count(counter: Metric, value: number, more?: TelemetryAttributes): void {
    if (value === 0 || !this.#telemetry.count) return;
    const attributes = more ?? this.#attributes;
    this.#attempt(() => this.#telemetry.count!(counter, value, attributes));
  }

  read(result: ReadResult): void {
    this.count(READS, 1, this.#with('mortise.cache.result', result));
  }

  loaded(ms: number, isFailed: boolean): void {
    this.#record(LOADS, ms, this.#with('mortise.cache.outcome', isFailed ? 'failed' : 'loaded'));
  }

  refreshed({ rows, refused, lateMs }: BatchOutcome): void {
    for (const [outcome, count] of Object.entries(rows))
      this.count(ROWS, count, this.#with('mortise.cache.outcome', outcome));
    this.count(REFUSED, refused);
    this.#record(LATE, lateMs, this.#attributes);
  }

  #record(histogram: Metric, ms: number, attributes: TelemetryAttributes): void {
    if (!this.#telemetry.record) return;
    this.#attempt(() => this.#telemetry.record!(histogram, ms / 1_000, attributes));
  }

  #with(name: string, value: string): TelemetryAttributes {
    let attributes = this.#byResult.get(value);
    if (!attributes) {
      attributes = { ...this.#attributes, [name]: value };
      this.#byResult.set(value, attributes);
    }
    return attributes;
  }

  #attempt(act: () => void): void {
    try {
      act();
    } catch (error) {
      if (!this.#hasReported) console.error('mortise: telemetry threw', error);
      this.#hasReported = true;
    }
  }
}
