/**
 * `Telemetry` on the API of OpenTelemetry. The application hands the API over, so its own copy is used, and nothing is imported
 * here; register the SDK first. Trace context is read and written by W3C Trace Context itself, whichever propagator is
 * registered: what travels in the headers of tasks must fit whoever runs them.
 */
import type {
  Metric,
  SpanEnd,
  SpanStart,
  Telemetry,
  TelemetryAttributes,
  TelemetrySpan,
  TraceContext,
} from '@mortise/redis';
import type * as OpenTelemetry from '@opentelemetry/api';
import { describeError } from '@mortise/redis';

type Api = Pick<
  typeof OpenTelemetry,
  'context' | 'createTraceState' | 'metrics' | 'SpanKind' | 'SpanStatusCode' | 'trace'
>;

export interface OtelOptions {
  /** See `Telemetry.firstAttempt`. Default `link`. */
  readonly firstAttempt?: 'link' | 'parent';
}

const SCOPE = '@mortise/queues';
const TRACEPARENT = /^[\da-f]{2}-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})(?:-|$)/;

/** For the option `telemetry` of `Queue`, `Worker` and `QueuesModule`: `otelTelemetry(await import('@opentelemetry/api'))`. */
export function otelTelemetry(api: Api, { firstAttempt = 'link' }: OtelOptions = {}): Telemetry {
  const tracer = api.trace.getTracer(SCOPE);
  const counters = new Map<Metric, OpenTelemetry.Counter>();
  const histograms = new Map<Metric, OpenTelemetry.Histogram>();

  return {
    firstAttempt,

    count(metric: Metric, value: number, attributes: TelemetryAttributes): void {
      let counter = counters.get(metric);
      if (!counter) {
        const { name, unit, description } = metric;
        counter = api.metrics.getMeter(SCOPE).createCounter(name, { unit, description });
        counters.set(metric, counter);
      }
      counter.add(value, attributes);
    },

    record(metric: Metric, value: number, attributes: TelemetryAttributes): void {
      let histogram = histograms.get(metric);
      if (!histogram) {
        const { name, unit, description } = metric;
        const advice = { explicitBucketBoundaries: SECONDS };
        histogram = api.metrics.getMeter(SCOPE).createHistogram(name, { unit, description, advice });
        histograms.set(metric, histogram);
      }
      histogram.record(value, attributes);
    },

    span({ name, kind, attributes, parent, links = [] }: SpanStart): TelemetrySpan {
      const origin = parent && spanContextOf(api, parent);
      // The code that a worker happens to run in has nothing to do with the tasks that it takes.
      const root = kind === 'consumer' && !origin;
      const context = origin ? api.trace.setSpanContext(api.context.active(), origin) : api.context.active();
      const span = tracer.startSpan(
        name,
        {
          kind: kind === 'producer' ? api.SpanKind.PRODUCER : api.SpanKind.CONSUMER,
          attributes,
          root,
          links: links
            .map((link) => spanContextOf(api, link))
            .filter((linked) => linked !== undefined)
            .map((linked) => ({ context: linked })),
        },
        context,
      );
      return new OtelSpan(api, span);
    },
  };
}

/** Boundaries of the buckets that OpenTelemetry advises for durations in seconds, and some for tasks that wait long. */
const SECONDS = [
  0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1_800, 7_200, 86_400,
];

class OtelSpan implements TelemetrySpan {
  readonly traceContext: TraceContext | undefined;
  readonly #api: Api;
  readonly #span: OpenTelemetry.Span;

  constructor(api: Api, span: OpenTelemetry.Span) {
    this.#api = api;
    this.#span = span;
    const spanContext = span.spanContext();
    if (!api.trace.isSpanContextValid(spanContext)) return;
    const { traceId, spanId, traceFlags, traceState } = spanContext;
    const traceparent = `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`;
    this.traceContext = { traceparent, tracestate: traceState?.serialize() || undefined };
  }

  run<Result>(act: () => Result): Result {
    const { context, trace } = this.#api;
    return context.with(trace.setSpan(context.active(), this.#span), act);
  }

  end({ attributes, error }: SpanEnd): void {
    try {
      if (attributes) this.#span.setAttributes(attributes);
      if (error !== undefined) this.#fail(error);
    } finally {
      this.#span.end();
    }
  }

  /** A handler may have thrown anything. */
  #fail(error: unknown): void {
    const exception = error instanceof Error ? error : new Error(describeError(error));
    const { name, message, code } = exception as Error & { readonly code?: unknown };
    this.#span.recordException(exception);
    this.#span.setAttribute('error.type', typeof code === 'string' ? code : name);
    this.#span.setStatus({ code: this.#api.SpanStatusCode.ERROR, message });
  }
}

/** Undefined for what is no trace context: headers come from anywhere. */
function spanContextOf(
  api: Api,
  { traceparent, tracestate }: TraceContext,
): OpenTelemetry.SpanContext | undefined {
  const [, traceId, spanId, flags] = TRACEPARENT.exec(traceparent) ?? [];
  if (!traceId || !spanId || !flags) return undefined;
  const spanContext = {
    traceId,
    spanId,
    traceFlags: Number.parseInt(flags, 16),
    isRemote: true,
    ...(tracestate !== undefined && { traceState: api.createTraceState(tracestate) }),
  };
  return api.trace.isSpanContextValid(spanContext) ? spanContext : undefined;
}
