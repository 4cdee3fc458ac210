/**
 * What Mortise tells of itself, for those who measure and trace. The packages call this interface and depend on no library
 * for it; each method may be left out, and without `telemetry` nothing is made, measured or called.
 *
 * An implementation is called on hot paths: it should neither wait nor throw. What it throws is caught, and printed once.
 * `@mortise/queues/otel` has one for OpenTelemetry. Rejected: events on an emitter, which cannot run a handler inside the
 * context of a span.
 */

/** What is measured. Each package has a fixed set of them, the same objects every time, so they can be keys of a Map. */
export interface Metric {
  /** Such as `mortise.queues.enqueued`. */
  readonly name: string;
  /** In the notation of UCUM, as OpenTelemetry has it: `{task}`, `s`. */
  readonly unit: string;
  readonly description: string;
}

/** Names are those of OpenTelemetry's semantic conventions where it has one; the values of one name are few. */
export type TelemetryAttributes = Readonly<Record<string, string | number | boolean>>;

/** Where a span stands in its trace, as W3C Trace Context writes it; it travels in headers. */
export interface TraceContext {
  readonly traceparent: string;
  readonly tracestate?: string | undefined;
}

export interface SpanStart {
  /** Such as `send mail`. */
  readonly name: string;
  readonly kind: 'producer' | 'consumer';
  readonly attributes: TelemetryAttributes;
  /** The span that it continues, of another process. Default: for a producer the present one, for a consumer none. */
  readonly parent?: TraceContext | undefined;
  /** Spans that led to it without being its parent. */
  readonly links?: readonly TraceContext[] | undefined;
}

export interface SpanEnd {
  readonly attributes?: TelemetryAttributes | undefined;
  /** What went wrong, if something did. */
  readonly error?: unknown;
}

export interface TelemetrySpan {
  /** Undefined when nobody records the trace. */
  readonly traceContext?: TraceContext | undefined;
  /** Calls `act` so that this is the present span in it and in all that it awaits. */
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
   * How the span of the first attempt of a task goes with the span that has sent it: `link`, the default, or `parent`. Later
   * attempts are always linked, or traces of tasks that are retried for days would never end.
   */
  readonly firstAttempt?: 'link' | 'parent' | undefined;
}
