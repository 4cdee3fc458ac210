/**
 * `Telemetry` on the API of OpenTelemetry. The application passes the API, so its own copy is used and nothing is imported here.
 * Register the SDK first. Trace context is written and read as W3C Trace Context, whatever propagator is registered: the
 * headers of a task must fit every process that runs it.
 */
import type * as OpenTelemetry from '@opentelemetry/api';
import { describeError } from '../describe-error.js';
import { requireName, requireOneOf, requireOptions } from '../require.js';
import type {
  Metric,
  SpanEnd,
  SpanStart,
  Telemetry,
  TelemetryAttributes,
  TelemetrySpan,
  TraceContext,
} from '../telemetry.js';

/** `@opentelemetry/api` 1.9 or later. */
export type OtelApi = Pick<
  typeof OpenTelemetry,
  'context' | 'createTraceState' | 'metrics' | 'SpanKind' | 'SpanStatusCode' | 'trace'
>;

export interface OtelOptions {
  /** Name of the instrumentation scope. Default: the package that exports the function, such as `@mortise/locks`. */
  readonly scope?: string | undefined;
  /** See `Telemetry.firstAttempt`. Default `link`. */
  readonly firstAttempt?: 'link' | 'parent' | undefined;
}

const KNOWN: ReadonlySet<string> = new Set<keyof OtelOptions>(['scope', 'firstAttempt']);
const TRACEPARENT = /^[\da-f]{2}-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})(?:-|$)/;

/** Boundaries for durations: those that OpenTelemetry recommends, and longer ones for waiting tasks. */
const SECONDS = [
  0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1_800, 7_200, 86_400,
];
/** Boundaries for counts, such as the size of a batch. */
const COUNTS = [1, 2, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000];

/** Throws TypeError or RangeError for an invalid or unknown option. */
export type OtelTelemetry = (api: OtelApi, options?: OtelOptions) => Telemetry;

/** For the option `telemetry` of any package: `otelTelemetry(await import('@opentelemetry/api'))`. */
export const otelTelemetry: OtelTelemetry = /* @__PURE__ */ otelTelemetryOf('redis');

/**
 * Makes the `otelTelemetry` of a package, with the scope of that package.
 *
 * @param packageName Such as `locks`, for the scope `@mortise/locks`.
 */
export function otelTelemetryOf(packageName: string): OtelTelemetry {
  return (api, options = {}) => {
    const { scope = `@mortise/${packageName}`, firstAttempt = 'link' } = requireOptions(
      'otelTelemetry',
      options,
      KNOWN,
    );
    requireName('scope', scope);
    requireOneOf('firstAttempt', firstAttempt, ['link', 'parent']);
    return telemetryOf(api, scope, firstAttempt);
  };
}

function telemetryOf(api: OtelApi, scope: string, firstAttempt: 'link' | 'parent'): Telemetry {
  const tracer = api.trace.getTracer(scope);
  const counters = new Map<Metric, OpenTelemetry.Counter>();
  const histograms = new Map<Metric, OpenTelemetry.Histogram>();

  return {
    firstAttempt,

    count(metric: Metric, value: number, attributes: TelemetryAttributes): void {
      let counter = counters.get(metric);
      if (!counter) {
        const { name, unit, description } = metric;
        counter = api.metrics.getMeter(scope).createCounter(name, { unit, description });
        counters.set(metric, counter);
      }
      counter.add(value, attributes);
    },

    record(metric: Metric, value: number, attributes: TelemetryAttributes): void {
      let histogram = histograms.get(metric);
      if (!histogram) {
        const { name, unit, description } = metric;
        const advice = { explicitBucketBoundaries: unit === 's' ? SECONDS : COUNTS };
        histogram = api.metrics.getMeter(scope).createHistogram(name, { unit, description, advice });
        histograms.set(metric, histogram);
      }
      histogram.record(value, attributes);
    },

    span({ name, kind, attributes, parent, links = [] }: SpanStart): TelemetrySpan {
      const origin = parent && spanContextOf(api, parent);
      // A consumer starts its own trace: the active span did not cause the task.
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

class OtelSpan implements TelemetrySpan {
  readonly traceContext: TraceContext | undefined;
  readonly #api: OtelApi;
  readonly #span: OpenTelemetry.Span;

  constructor(api: OtelApi, span: OpenTelemetry.Span) {
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

  /** Any value may have been thrown. */
  #fail(error: unknown): void {
    const exception = error instanceof Error ? error : new Error(describeError(error));
    const { name, message, code } = exception as Error & { readonly code?: unknown };
    this.#span.recordException(exception);
    this.#span.setAttribute('error.type', typeof code === 'string' ? code : name);
    this.#span.setStatus({ code: this.#api.SpanStatusCode.ERROR, message });
  }
}

/** Undefined for an invalid trace context, since headers come from anywhere. */
function spanContextOf(
  api: OtelApi,
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
