/**
 * The interface for metrics and traces, without a dependency on any library. Each method may be left out. Without
 * `telemetry` the packages measure nothing.
 *
 * The packages call it on hot paths: an implementation must not block. `SafeTelemetry` catches its errors and prints the
 * first. `./otel` implements it for OpenTelemetry. Rejected: events on an emitter, which cannot run a handler inside the
 * context of a span.
 */

/** A counter or histogram. Each package has a fixed set of these objects, so they can be keys of a Map. */
export interface Metric {
  /** The name, such as `mortise.queues.enqueued`. */
  readonly name: string;
  /** A UCUM unit, as in OpenTelemetry: `{task}`, `s`. */
  readonly unit: string;
  readonly description: string;
}

/** Attributes by name. Names follow OpenTelemetry's semantic conventions where these exist; each name has few values. */
export type TelemetryAttributes = Readonly<Record<string, string | number | boolean>>;

/** The place of a span in its trace, in the form of W3C Trace Context. It travels in headers. */
export interface TraceContext {
  readonly traceparent: string;
  readonly tracestate?: string | undefined;
}

export interface SpanStart {
  /** The name, such as `send mail`. */
  readonly name: string;
  readonly kind: 'producer' | 'consumer';
  readonly attributes: TelemetryAttributes;
  /** The span of another process that this one continues. Default: for a producer the active span, for a consumer none. */
  readonly parent?: TraceContext | undefined;
  /** Spans that caused this one without being its parent. */
  readonly links?: readonly TraceContext[] | undefined;
}

export interface SpanEnd {
  readonly attributes?: TelemetryAttributes | undefined;
  /** The error of the work, if it failed. */
  readonly error?: unknown;
}

export interface TelemetrySpan {
  /** Undefined when the trace is not recorded. */
  readonly traceContext?: TraceContext | undefined;
  /** Calls `act` with this span active, also in everything that `act` awaits. */
  run<Result>(act: () => Result): Result;
  /** Called once. */
  end(how: SpanEnd): void;
}

export interface Telemetry {
  /** Adds to a counter. */
  count?(counter: Metric, value: number, attributes: TelemetryAttributes): void;
  /** Adds a value to a histogram. */
  record?(histogram: Metric, value: number, attributes: TelemetryAttributes): void;
  /** Begins a span. */
  span?(start: SpanStart): TelemetrySpan;
  /**
   * Whether the span of a task's first attempt is also a child of the producer's span, besides linking to that span. Default
   * `link`: it only links. Later attempts only link, since otherwise the trace of a task that is retried for days would never
   * end.
   */
  readonly firstAttempt?: 'link' | 'parent' | undefined;
}
