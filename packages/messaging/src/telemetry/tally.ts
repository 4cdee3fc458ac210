/** Counts for a `Telemetry`, so that nothing it throws harms a message; the first of it is printed. */
import type { Metric, Telemetry, TelemetryAttributes } from '@mortise/redis';
import type { IdRange } from '../log/entry.js';
import { BATCH, DROPPED, DUPLICATES, POSTED } from './metrics.js';

type Kind = 'chat' | 'mailbox';

export class Tally {
  readonly #telemetry: Telemetry;
  readonly #attributes: TelemetryAttributes;
  #isTold = false;

  /** Undefined where nobody wants it. Throws TypeError for what is no telemetry. */
  static for(telemetry: Telemetry | undefined, kind: Kind): Tally | undefined {
    return telemetry === undefined ? undefined : new Tally(telemetry, kind);
  }

  private constructor(telemetry: Telemetry, kind: Kind) {
    if (typeof telemetry !== 'object' || telemetry === null) {
      throw new TypeError(
        `telemetry must be an object, got ${telemetry === null ? 'null' : typeof telemetry}`,
      );
    }
    this.#telemetry = telemetry;
    // Names of chats, members, recipients and files are too many for a metric.
    this.#attributes = { 'messaging.system': 'mortise', 'mortise.messaging.kind': kind };
  }

  count(counter: Metric, value: number, more?: TelemetryAttributes): void {
    if (value === 0 || !this.#telemetry.count) return;
    const attributes = more ? { ...this.#attributes, ...more } : this.#attributes;
    this.#attempt(() => this.#telemetry.count!(counter, value, attributes));
  }

  record(histogram: Metric, value: number, more?: TelemetryAttributes): void {
    if (!this.#telemetry.record) return;
    const attributes = more ? { ...this.#attributes, ...more } : this.#attributes;
    this.#attempt(() => this.#telemetry.record!(histogram, value, attributes));
  }

  /** What one script call has stored. */
  posted(results: readonly (object | Error)[], dropped: IdRange | undefined): void {
    let posted = 0;
    let duplicates = 0;
    for (const result of results) {
      if (!('isDuplicate' in result)) continue;
      if (result.isDuplicate) duplicates += 1;
      else posted += 1;
    }
    this.count(POSTED, posted);
    this.count(DUPLICATES, duplicates);
    if (dropped) this.count(DROPPED, dropped.toId + 1 - dropped.fromId);
    if (posted + duplicates > 0) this.record(BATCH, posted + duplicates);
  }

  #attempt(act: () => void): void {
    try {
      act();
    } catch (error) {
      if (!this.#isTold) console.error('mortise: telemetry threw', error);
      this.#isTold = true;
    }
  }
}
