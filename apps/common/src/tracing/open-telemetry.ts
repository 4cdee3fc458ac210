/**
 * `Tracing` on the SDK of OpenTelemetry. Only this file and its exporter import it. Metrics go to Prometheus instead: see
 * ../operations. Rejected: the instrumentation packages, which patch modules while they load, and know no queues of ours.
 */
import type { Telemetry } from '@mortise/redis';
import { waitFor } from '@mortise/redis';
import { otelTelemetry } from '@mortise/redis/otel';
import * as api from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { setGlobalErrorHandler, W3CTraceContextPropagator } from '@opentelemetry/core';
import {
  defaultResource,
  detectResources,
  envDetector,
  resourceFromAttributes,
} from '@opentelemetry/resources';
import type { SpanProcessor } from '@opentelemetry/sdk-trace-base';
import { BasicTracerProvider } from '@opentelemetry/sdk-trace-base';

import type { RequestSpan, RequestStart, Tracing } from './tracing.js';

const SCOPE = 'mortise';
const SERVER_ERROR = 500;
/** A collector that is away doesn't hold up the end of the process. */
const STOP_MS = 1_000;

/** Registers the SDK for the process. `OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES` change the resource. */
export function openTelemetry(
  app: string,
  processor: SpanProcessor,
  onError: (error: unknown) => void,
): Tracing {
  const own = resourceFromAttributes({ 'service.name': `mortise-${app}`, 'service.namespace': 'mortise' });
  const fromEnvironment = detectResources({ detectors: [envDetector] });
  const provider = new BasicTracerProvider({
    resource: defaultResource().merge(own).merge(fromEnvironment),
    spanProcessors: [processor],
  });
  setGlobalErrorHandler(onError);
  api.context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  api.trace.setGlobalTracerProvider(provider);
  // The first attempt belongs to the trace of its request; those after it only link to it, or a trace could last for days.
  const { span, firstAttempt } = otelTelemetry(api, {
    scope: SCOPE,
    firstAttempt: 'parent',
  }) as Required<Telemetry>;
  const propagator = new W3CTraceContextPropagator();
  return {
    telemetry: { span, firstAttempt },
    request: (start) => new OpenRequestSpan(propagator, start),
    stop: async () => {
      await waitFor(provider.shutdown(), { waitMs: STOP_MS }).catch(onError);
      api.trace.disable();
      api.context.disable();
    },
  };
}

class OpenRequestSpan implements RequestSpan {
  readonly traceId: string;
  readonly #span: api.Span;
  readonly #context: api.Context;

  constructor(propagator: W3CTraceContextPropagator, { method, route, headers, frame }: RequestStart) {
    const outside = propagator.extract(api.ROOT_CONTEXT, headers, api.defaultTextMapGetter);
    // Neither the address nor its query: they may contain secrets.
    const attributes = {
      ...(frame === undefined ? { 'http.request.method': method } : { 'mortise.frame': frame }),
      ...(route !== undefined && { 'http.route': route }),
    };
    const name = [frame ?? method, route].filter((part) => part !== undefined).join(' ');
    this.#span = api.trace
      .getTracer(SCOPE)
      .startSpan(name, { kind: api.SpanKind.SERVER, attributes }, outside);
    this.#context = api.trace.setSpan(outside, this.#span);
    this.traceId = this.#span.spanContext().traceId;
  }

  run<Result>(act: () => Result): Result {
    return api.context.with(this.#context, act);
  }

  end(status: number): void {
    this.#span.setAttribute('http.response.status_code', status);
    if (status >= SERVER_ERROR) {
      this.#span.setAttribute('error.type', String(status));
      this.#span.setStatus({ code: api.SpanStatusCode.ERROR });
    }
    this.#span.end();
  }
}
