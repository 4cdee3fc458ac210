/** Counts for a `Telemetry`, so that nothing it throws harms a completion; the first of it is printed. */
import { ArgumentTypeError } from '@mortise/redis';
import type { Metric, Telemetry, TelemetryAttributes } from '@mortise/redis';
import { COMPLETIONS, SUGGESTIONS } from './metrics.js';

type Kind = 'recent' | 'book' | 'mention';

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
      throw new ArgumentTypeError(
        `telemetry must be an object, got ${telemetry === null ? 'null' : typeof telemetry}`,
      );
    }
    this.#telemetry = telemetry;
    // Names of users and books are too many for a metric.
    this.#attributes = { 'mortise.autocomplete.kind': kind };
  }

  count(counter: Metric, value: number, more?: TelemetryAttributes): void {
    if (value === 0 || !this.#telemetry.count) return;
    try {
      this.#telemetry.count(counter, value, more ? { ...this.#attributes, ...more } : this.#attributes);
    } catch (error) {
      if (!this.#isTold) console.error('mortise: telemetry threw', error);
      this.#isTold = true;
    }
  }

  completed(suggestions: number): void {
    this.count(COMPLETIONS, 1);
    this.count(SUGGESTIONS, suggestions);
  }
}
