import { requireObject } from './require.js';
import type {
  Metric,
  SpanEnd,
  SpanStart,
  Telemetry,
  TelemetryAttributes,
  TelemetrySpan,
  TraceContext,
} from './telemetry.js';

/** Calls a `Telemetry` and catches its errors. The first error is printed, the others are ignored. */
export class SafeTelemetry {
  readonly #telemetry: Telemetry;
  readonly #attributes: TelemetryAttributes;
  #hasPrinted = false;

  /** Undefined without the option `telemetry`. Throws TypeError for a value that is not an object. */
  static of(telemetry: Telemetry | undefined, attributes?: TelemetryAttributes): SafeTelemetry | undefined {
    return telemetry === undefined ? undefined : new SafeTelemetry(telemetry, attributes);
  }

  /** @param attributes The attributes of every count and record, not of spans. */
  constructor(telemetry: Telemetry, attributes: TelemetryAttributes = {}) {
    this.#telemetry = requireObject('telemetry', telemetry);
    this.#attributes = attributes;
  }

  get firstAttempt(): 'link' | 'parent' {
    return this.#telemetry.firstAttempt ?? 'link';
  }

  /** Adds to a counter, unless the value is 0. */
  count(counter: Metric, value: number, more?: TelemetryAttributes): void {
    if (value === 0 || !this.#telemetry.count) return;
    const attributes = more ? { ...this.#attributes, ...more } : this.#attributes;
    this.attempt(() => this.#telemetry.count!(counter, value, attributes));
  }

  /** Adds a value to a histogram. */
  record(histogram: Metric, value: number, more?: TelemetryAttributes): void {
    if (!this.#telemetry.record) return;
    const attributes = more ? { ...this.#attributes, ...more } : this.#attributes;
    this.attempt(() => this.#telemetry.record!(histogram, value, attributes));
  }

  /** Undefined if the telemetry has no spans; then `start` is not called. */
  span(start: () => SpanStart): SafeSpan | undefined {
    if (!this.#telemetry.span) return undefined;
    const span = this.attempt(() => this.#telemetry.span!(start()));
    return span && new SafeSpan(this, span);
  }

  /** Returns the result of `act`; undefined when it throws. */
  attempt<Result>(act: () => Result): Result | undefined {
    try {
      return act();
    } catch (error) {
      if (!this.#hasPrinted) console.error('mortise: telemetry threw', error);
      this.#hasPrinted = true;
      return undefined;
    }
  }
}

/** A span of a `SafeTelemetry`. */
export class SafeSpan {
  readonly #telemetry: SafeTelemetry;
  readonly #span: TelemetrySpan;

  constructor(telemetry: SafeTelemetry, span: TelemetrySpan) {
    this.#telemetry = telemetry;
    this.#span = span;
  }

  get traceContext(): TraceContext | undefined {
    return this.#telemetry.attempt(() => this.#span.traceContext);
  }

  /** Calls `act` exactly once, and returns or throws what it does, even when the telemetry throws or calls it twice. */
  run<Result>(act: () => Result): Result {
    let outcome: { readonly result: Result } | { readonly error: unknown } | undefined;
    this.#telemetry.attempt(() =>
      this.#span.run(() => {
        if (outcome) return;
        try {
          outcome = { result: act() };
        } catch (error) {
          outcome = { error };
        }
      }),
    );
    if (!outcome) return act();
    if ('error' in outcome) throw outcome.error;
    return outcome.result;
  }

  end(how: SpanEnd): void {
    this.#telemetry.attempt(() => this.#span.end(how));
  }
}
