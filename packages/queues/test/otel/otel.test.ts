import { afterAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { TaskContext } from '@mortise/queues';
import { Queue } from '@mortise/queues';
import { otelTelemetry } from '@mortise/queues/otel';
import { freshPrefix, until } from '@mortise/test-kit';
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
import { launch } from '../fixture/launch.js';
import { redis } from '../fixture/new-queue.js';

const backoff = { type: 'fixed', delayMs: 1 } as const;

test('without an SDK it changes nothing', async () => {
  const prefix = freshPrefix();
  const telemetry = otelTelemetry(api);
  const queue = new Queue(redis, 'q', { prefix, telemetry });
  const { id } = await queue.enqueue('t', 1);
  expect((await queue.get(id))?.headers).toEqual({});
  await launch(redis, 'q', { t: () => 'done' }, { prefix, telemetry });
  await until('the end', async () => (await queue.get(id))?.result === 'done');
});

describe('with an SDK', () => {
  const spans = new InMemorySpanExporter();
  const metrics = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  const reader = new PeriodicExportingMetricReader({ exporter: metrics, exportIntervalMillis: 3_600_000 });
  const meters = new MeterProvider({ readers: [reader] });
  const tracers = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(spans)] });
  let tracer: api.Tracer;

  beforeEach(() => {
    api.context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
    api.trace.setGlobalTracerProvider(tracers);
    api.metrics.setGlobalMeterProvider(meters);
    tracer = api.trace.getTracer('test');
    spans.reset();
  });

  afterAll(async () => {
    api.trace.disable();
    api.metrics.disable();
    api.context.disable();
    await meters.shutdown();
  });

  const named = (name: string): ReadableSpan[] =>
    spans.getFinishedSpans().filter((span) => span.name === name);
  const idsOf = (span: ReadableSpan): [string, string] => [
    span.spanContext().traceId,
    span.spanContext().spanId,
  ];

  test('a task links to the span of its enqueue, and spans of its handler are children of its own', async () => {
    const prefix = freshPrefix();
    const telemetry = otelTelemetry(api);
    const queue = new Queue(redis, 'mail', { prefix, telemetry });
    // A worker that is started inside of a span does not run its tasks there.
    await tracer.startActiveSpan('boot', async (span) => {
      await launch(
        redis,
        'mail',
        {
          sold: async (_: unknown, { attempt }: TaskContext) => {
            await new Promise(setImmediate);
            tracer.startSpan(`attempt ${attempt}`).end();
            if (attempt === 1) throw Object.assign(new Error('not yet'), { code: 'ERR_BUSY' });
          },
        },
        { prefix, telemetry, backoff },
      );
      span.end();
    });
    const { id } = await tracer.startActiveSpan('request', async (span) => {
      const stored = await queue.enqueue('sold', null);
      span.end();
      return stored;
    });
    await until('the end', () => named('process mail').length === 2);

    const [request] = named('request');
    const [send] = named('send mail');
    const [first, second] = named('process mail');
    expect(send!.parentSpanContext?.spanId).toBe(request!.spanContext().spanId);
    expect(send).toMatchObject({ kind: api.SpanKind.PRODUCER, attributes: { 'messaging.message.id': id } });
    for (const process of [first!, second!]) {
      expect(process.kind).toBe(api.SpanKind.CONSUMER);
      expect(process.parentSpanContext).toBeUndefined();
      expect(process.links.map(({ context }) => [context.traceId, context.spanId])).toEqual([idsOf(send!)]);
      expect(process.links[0]!.context.isRemote).toBe(true);
    }
    expect(first).toMatchObject({
      status: { code: api.SpanStatusCode.ERROR, message: 'not yet' },
      attributes: { 'error.type': 'ERR_BUSY', 'mortise.outcome': 'failed', 'mortise.task.attempt': 1 },
      events: [{ name: 'exception' }],
    });
    expect(second!.status.code).toBe(api.SpanStatusCode.UNSET);
    for (const [attempt, process] of [first!, second!].entries()) {
      const [inner] = named(`attempt ${attempt + 1}`);
      expect(inner!.parentSpanContext?.spanId).toBe(process.spanContext().spanId);
    }
    const { traceparent } = (await queue.get(id))!.headers;
    expect(traceparent).toBe(`00-${idsOf(send!).join('-')}-01`);
  });

  test("firstAttempt: 'parent' continues the trace", async () => {
    const prefix = freshPrefix();
    const telemetry = otelTelemetry(api, { firstAttempt: 'parent' });
    const queue = new Queue(redis, 'mail', { prefix, telemetry });
    const fail = (_: unknown, { attempt }: TaskContext): void => {
      if (attempt === 1) throw new Error('not yet');
    };
    await launch(redis, 'mail', { sold: fail }, { prefix, telemetry, backoff });
    await queue.enqueue('sold', null);
    await until('the end', () => named('process mail').length === 2);
    const [send] = named('send mail');
    const [first, second] = named('process mail');
    expect(first!.parentSpanContext?.spanId).toBe(send!.spanContext().spanId);
    expect(first!.spanContext().traceId).toBe(send!.spanContext().traceId);
    expect(first!.links.map(({ context }) => context.spanId)).toEqual([send!.spanContext().spanId]);
    expect(second!.spanContext().traceId).not.toBe(send!.spanContext().traceId);
    expect(second!.links).toHaveLength(1);
  });

  test('headers that are no trace context are left alone, vendor state travels', async () => {
    const prefix = freshPrefix();
    const telemetry = otelTelemetry(api);
    const plain = new Queue(redis, 'mail', { prefix });
    await launch(redis, 'mail', { sold: () => undefined }, { prefix, telemetry, concurrency: 1 });
    const trace = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;
    const headers = [
      { traceparent: trace, tracestate: 'vendor=1' },
      ...['', 'x', trace.toUpperCase(), `00-${'0'.repeat(32)}-${'b'.repeat(16)}-01`].map((traceparent) => ({
        traceparent,
      })),
    ];
    for (const one of headers) await plain.enqueue('sold', null, { headers: one });
    await until('the end', () => named('process mail').length === headers.length);
    const links = named('process mail').map((span) => span.links);
    expect(links.map(({ length }) => length)).toEqual([1, 0, 0, 0, 0]);
    expect(links[0]![0]!.context.traceState?.get('vendor')).toBe('1');
  });

  test('counters and durations are exported with their units', async () => {
    const prefix = freshPrefix();
    const telemetry = otelTelemetry(api);
    const queue = new Queue(redis, 'metered', { prefix, telemetry });
    await launch(redis, 'metered', { t: () => undefined }, { prefix, telemetry });
    await queue.enqueueMany([1, 2, 3].map((payload) => ({ name: 't', payload })));
    await until('the end', async () => (await queue.counts()).succeeded === 3);
    await meters.forceFlush();
    const exported = metrics
      .getMetrics()
      .at(-1)!
      .scopeMetrics.flatMap((scope) => scope.metrics)
      .flatMap(({ descriptor, dataPoints }) =>
        dataPoints
          .filter(({ attributes }) => attributes['messaging.destination.name'] === 'metered')
          .map(({ value }) => {
            const count = typeof value === 'number' ? value : (value as { count: number }).count;
            return `${descriptor.name} ${count} ${descriptor.unit}`;
          }),
      );
    expect(exported.toSorted()).toEqual([
      'mortise.queues.enqueued 3 {task}',
      'mortise.queues.run 3 s',
      'mortise.queues.succeeded 3 {task}',
      'mortise.queues.wait 3 s',
    ]);
  });
});
