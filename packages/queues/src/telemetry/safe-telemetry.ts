/** Calls a `Telemetry` so that nothing it throws harms a task; the first of it is printed. */
import { ArgumentTypeError } from '@mortise/redis';
import type {
  Metric,
  SpanEnd,
  SpanStart,
  Telemetry,
  TelemetryAttributes,
  TelemetrySpan,
  TraceContext,
} from '@mortise/redis';

export class SafeTelemetry {
  readonly #telemetry: Telemetry;
  #isTold = false;

  /** Throws TypeError for what is none. */
  constructor(telemetry: Telemetry) {
    if (typeof telemetry !== 'object' || telemetry === null) {
      throw new ArgumentTypeError(
        `telemetry must be an object, got ${telemetry === null ? 'null' : typeof telemetry}`,
      );
    }
    this.#telemetry = telemetry;
  }

  get isParentOfFirstAttempt(): boolean {
    return this.#telemetry.firstAttempt === 'parent';
  }

  count(counter: Metric, value: number, attributes: TelemetryAttributes): void {
    if (!this.#telemetry.count) return;
    this.attempt(() => this.#telemetry.count!(counter, value, attributes));
  }

  record(histogram: Metric, value: number, attributes: TelemetryAttributes): void {
    if (!this.#telemetry.record) return;
    this.attempt(() => this.#telemetry.record!(histogram, value, attributes));
  }

  /** Undefined when nobody wants spans; then `start` is not called. */
  span(start: () => SpanStart): SafeSpan | undefined {
    if (!this.#telemetry.span) return undefined;
    const span = this.attempt(() => this.#telemetry.span!(start()));
    return span && new SafeSpan(this, span);
  }

  /** What `act` returns; undefined when it throws. */
  attempt<Result>(act: () => Result): Result | undefined {
    try {
      return act();
    } catch (error) {
      if (!this.#isTold) console.error('mortise: telemetry threw', error);
      this.#isTold = true;
      return undefined;
    }
  }
}

export class SafeSpan {
  readonly #owner: SafeTelemetry;
  readonly #span: TelemetrySpan;

  constructor(owner: SafeTelemetry, span: TelemetrySpan) {
    this.#owner = owner;
    this.#span = span;
  }

  get traceContext(): TraceContext | undefined {
    return this.#owner.attempt(() => this.#span.traceContext);
  }

  /** Calls `act` once, whatever the implementation does. */
  run<Result>(act: () => Result): Result {
    let ended: { readonly result: Result } | { readonly error: unknown } | undefined;
    this.#owner.attempt(() =>
      this.#span.run(() => {
        if (ended) return;
        try {
          ended = { result: act() };
        } catch (error) {
          ended = { error };
        }
      }),
    );
    if (!ended) return act();
    if ('error' in ended) throw ended.error;
    return ended.result;
  }

  end(how: SpanEnd): void {
    this.#owner.attempt(() => this.#span.end(how));
  }
}
