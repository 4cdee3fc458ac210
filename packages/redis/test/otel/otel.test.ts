import { afterAll, beforeEach, describe, expect, test } from '@jest/globals';
import * as api from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics';
import type { ReadableSpan } from '@opentelemetry/sdk-trace-base';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import type { SpanStart } from '../../src/index.js';
import { otelTelemetry, otelTelemetryOf } from '../../src/otel/index.js';

const done = { name: 'mortise.test.done', unit: '{task}', description: 'Done.' };
const took = { name: 'mortise.test.took', unit: 's', description: 'How long it took.' };
const batch = { name: 'mortise.test.batch', unit: '{task}', description: 'The size of a batch.' };
const send: SpanStart = { name: 'send', kind: 'producer', attributes: { queue: 'mail' } };
const process: SpanStart = { name: 'process', kind: 'consumer', attributes: {} };

test('without an SDK it does nothing, and the work runs', () => {
  const telemetry = otelTelemetry(api);
  telemetry.count!(done, 1, {});
  telemetry.record!(took, 1, {});
  const span = telemetry.span!(send);
  expect(span.traceContext).toBeUndefined();
  expect(span.run(() => 'done')).toBe('done');
  span.end({ error: new Error('late') });
});

test.each([
  [{ scope: 5 }, TypeError, 'scope must be a string, got number'],
  [{ firstAttempt: 'child' }, RangeError, 'firstAttempt must be one of link, parent, got "child"'],
  [{ scop: 'a' }, TypeError, 'otelTelemetry has no option "scop"; there are scope, firstAttempt'],
])('refuses %j', (options, Misuse, message) => {
  expect(() => otelTelemetry(api, options as never)).toThrow(new Misuse(message));
});

describe('with an SDK', () => {
  const spans = new InMemorySpanExporter();
  const metrics = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  const reader = new PeriodicExportingMetricReader({ exporter: metrics, exportIntervalMillis: 3_600_000 });
  const meters = new MeterProvider({ readers: [reader] });
  const tracers = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(spans)] });

  beforeEach(() => {
    api.context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
    api.trace.setGlobalTracerProvider(tracers);
    api.metrics.setGlobalMeterProvider(meters);
    spans.reset();
  });

  afterAll(async () => {
    api.trace.disable();
    api.metrics.disable();
    api.context.disable();
    await meters.shutdown();
  });

  const named = (name: string): ReadableSpan => spans.getFinishedSpans().find((span) => span.name === name)!;

  test('the scope is the package, unless the options name one', async () => {
    for (const telemetry of [
      otelTelemetry(api),
      otelTelemetryOf('locks')(api, { scope: undefined }),
      otelTelemetryOf('locks')(api, { scope: 'shop' }),
    ]) {
      telemetry.count!(done, 1, {});
    }
    await reader.forceFlush();
    const scopes = metrics
      .getMetrics()
      .at(-1)!
      .scopeMetrics.map(({ scope }) => scope.name);
    expect(scopes.toSorted()).toEqual(['@mortise/locks', '@mortise/redis', 'shop']);
  });

  test('counts and histograms have the names of the metrics, under the scope', async () => {
    const telemetry = otelTelemetry(api, { scope: '@mortise/test' });
    telemetry.count!(done, 1, { outcome: 'dead' });
    telemetry.count!(done, 2, { outcome: 'dead' });
    telemetry.record!(took, 0.02, {});
    telemetry.record!(batch, 30, {});
    await reader.forceFlush();
    const { scopeMetrics } = metrics.getMetrics().at(-1)!;
    const scope = scopeMetrics.find(({ scope: { name } }) => name === '@mortise/test');
    const found = scope!.metrics.map(({ descriptor, dataPoints: [point] }) => {
      const { name, unit, description } = descriptor;
      return [{ name, unit, description }, point!.attributes, point!.value];
    });
    const buckets = (boundaries: number[], counted: number) =>
      expect.objectContaining({
        buckets: expect.objectContaining({ boundaries: expect.arrayContaining(boundaries) as unknown }),
        count: counted,
      });
    expect(scope!.scope.name).toBe('@mortise/test');
    expect(found).toEqual([
      [done, { outcome: 'dead' }, 3],
      [took, {}, buckets([0.001, 86_400], 1)],
      [batch, {}, buckets([1, 10_000], 1)],
    ]);
  });

  test('a consumer continues the trace of a producer, or links to it, and is present in its work', async () => {
    const telemetry = otelTelemetry(api, { firstAttempt: 'parent' });
    expect(telemetry.firstAttempt).toBe('parent');
    const producer = telemetry.span!(send);
    const { traceContext } = producer;
    producer.end({ attributes: { id: 'a' } });
    const sent = named('send');
    expect(traceContext!.traceparent).toBe(
      `00-${sent.spanContext().traceId}-${sent.spanContext().spanId}-01`,
    );
    expect(sent).toMatchObject({ kind: api.SpanKind.PRODUCER, attributes: { queue: 'mail', id: 'a' } });

    const child = telemetry.span!({ ...process, name: 'child', parent: traceContext });
    await child.run(async () => {
      await new Promise(setImmediate);
      api.trace.getTracer('test').startSpan('inner').end();
    });
    child.end({});
    expect(named('child').parentSpanContext?.spanId).toBe(sent.spanContext().spanId);
    expect(named('inner').parentSpanContext?.spanId).toBe(named('child').spanContext().spanId);

    api.trace.getTracer('test').startActiveSpan('boot', (boot) => {
      telemetry.span!({ ...process, name: 'linked', links: [traceContext!] }).end({});
      boot.end();
    });
    expect(named('linked').parentSpanContext).toBeUndefined();
    expect(named('linked').kind).toBe(api.SpanKind.CONSUMER);
    expect(named('linked').links.map(({ context }) => context)).toMatchObject([
      { spanId: sent.spanContext().spanId, isRemote: true },
    ]);
  });

  test.each([
    ['a code', Object.assign(new Error('busy'), { code: 'ERR_BUSY' }), 'ERR_BUSY', 'busy'],
    ['a class', new RangeError('too far'), 'RangeError', 'too far'],
    ['a value that is no error', 'plain', 'Error', 'plain'],
    ['an object without a prototype', Object.create(null), 'Error', '[Object: null prototype] {}'],
  ])('an error with %s marks the span', (_, error, type, message) => {
    otelTelemetry(api).span!(send).end({ error });
    expect(named('send')).toMatchObject({
      status: { code: api.SpanStatusCode.ERROR, message },
      attributes: { 'error.type': type },
      events: [{ name: 'exception' }],
    });
  });

  test.each([
    [''],
    ['x'],
    [`00-${'A'.repeat(32)}-${'b'.repeat(16)}-01`],
    [`00-${'0'.repeat(32)}-${'b'.repeat(16)}-01`],
  ])('an invalid trace context is ignored: %j', (traceparent) => {
    const telemetry = otelTelemetry(api);
    telemetry.span!({ ...process, parent: { traceparent }, links: [{ traceparent }] }).end({});
    expect(named('process').parentSpanContext).toBeUndefined();
    expect(named('process').links).toEqual([]);
  });

  test('vendor state travels', () => {
    const traceparent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;
    const parent = { traceparent, tracestate: 'vendor=1' };
    const span = otelTelemetry(api).span!({ ...process, parent });
    expect(span.traceContext?.tracestate).toBe('vendor=1');
    span.end({});
  });
});
