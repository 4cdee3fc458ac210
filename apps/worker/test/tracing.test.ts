/** One request through both apps: the spans that a collector gets, and the ids in the lines of the logs. */
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { until } from '@mortise/test-kit';
import { WebSocket } from 'ws';

import { Collector } from './fixture/collector.js';
import type { CollectedSpan } from './fixture/collector.js';
import { Game } from './fixture/game.js';
import { Program } from './fixture/programs.js';

const TRACE = 'a'.repeat(32);
const PARENT = 'b'.repeat(16);
const [SERVER, PRODUCER, CONSUMER] = [2, 4, 5];

/** Prints each module of OpenTelemetry that is loaded. */
const watching = `data:text/javascript,${encodeURIComponent(`
  import { register } from 'node:module';
  register('data:text/javascript,' + encodeURIComponent(\`
    export async function load(url, context, next) {
      if (url.includes('@opentelemetry')) process.stderr.write('loaded ' + url);
      return next(url, context);
    }
  \`));
`)}`;

const directory = mkdtempSync(join(tmpdir(), 'mortise-tracing-'));
afterAll(() => rmSync(directory, { recursive: true }));

function variablesOf(game: Game): Record<string, string> {
  return { ...game.variables, AUTH: 'off', PORT: '0', MAIL_DIR: directory };
}

async function post(api: Program, path: string, body: object, headers: object = {}): Promise<void> {
  const { url } = await api.said('listening');
  const response = await fetch(`${String(url)}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
  expect(response.status).toBeLessThan(300);
}

describe('with a collector', () => {
  let game: Game;
  let collector: Collector;
  let api: Program;
  let worker: Program;

  beforeAll(async () => {
    game = new Game();
    collector = await Collector.start();
    const variables = { ...variablesOf(game), ...collector.variables };
    api = new Program('api', variables);
    worker = new Program('worker', variables);
    await game.putPlayers();
    await worker.said('worker has started');
  });

  afterAll(async () => {
    await Promise.all([api, worker, collector, game].map((each) => each[Symbol.asyncDispose]()));
  });

  const spanOf = (name: string): Promise<CollectedSpan> =>
    until(`the span ${name}`, () => collector.spans.find((span) => span.name === name));

  test('a request, its task and the run of the task are one trace, and the run links to the task', async () => {
    const headers = { traceparent: `00-${TRACE}-${PARENT}-01`, 'x-request-id': 'reset-1' };
    await post(api, '/v1/market/password-resets', { playerId: 'frank' }, headers);
    const request = await spanOf('POST /v1/market/password-resets');
    const send = await spanOf('send mail');
    const process = await spanOf('process mail');
    expect([request, send, process].map(({ traceId }) => traceId)).toEqual([TRACE, TRACE, TRACE]);
    expect([request.parentSpanId, send.parentSpanId, process.parentSpanId]).toEqual([
      PARENT,
      request.spanId,
      send.spanId,
    ]);
    expect(process.links).toMatchObject([{ traceId: TRACE, spanId: send.spanId }]);
    expect([request.kind, send.kind, process.kind]).toEqual([SERVER, PRODUCER, CONSUMER]);
    expect([request.service, send.service, process.service]).toEqual([
      'mortise-api',
      'mortise-api',
      'mortise-worker',
    ]);
    expect(request.attributes).toEqual({
      'http.request.method': 'POST',
      'http.route': '/v1/market/password-resets',
      'http.response.status_code': 202,
    });
  });

  test('the lines of both apps name the request, the tenant, the task and the trace', async () => {
    const sent = await worker.said('mail sent');
    const { task } = sent;
    const ids = { reqId: 'reset-1', tenant: 'default', traceId: TRACE, task: expect.any(String) };
    expect(sent).toMatchObject(ids);
    const requested = await until('the line', () => api.lines.find(({ reqId }) => reqId === 'reset-1'));
    expect(requested).toMatchObject({ msg: 'request', ...ids, task });
  });

  test('a request without a trace begins one, and probes have none', async () => {
    await post(api, '/v1/queues/orders/tasks', { name: 'a', payload: 1 }, { 'x-request-id': 'order-1' });
    const span = await spanOf('POST /v1/queues/:queue/tasks');
    expect(span.parentSpanId ?? '').toBe('');
    const line = await until('the line', () => api.lines.find(({ reqId }) => reqId === 'order-1'));
    expect(line['traceId']).toBe(span.traceId);
    const { url } = await api.said('listening');
    expect((await fetch(`${String(url)}/health/live`)).status).toBe(200);
    expect((await fetch(`${String(url)}/v1/nothing`)).status).toBe(404);
    await spanOf('GET');
    expect(
      collector.spans.filter(({ attributes }) => /health/.test(String(attributes['http.route']))),
    ).toEqual([]);
  });

  test('a stream ends its span when the client leaves', async () => {
    const { url } = await api.said('listening');
    const leave = new AbortController();
    const stream = await fetch(`${String(url)}/v1/members/ann/events`, { signal: leave.signal });
    expect(stream.status).toBe(200);
    leave.abort();
    expect((await spanOf('GET /v1/members/:member/events')).attributes['http.response.status_code']).toBe(
      200,
    );
  });

  test('each frame of a WebSocket that calls an operation is a span in the trace of its request', async () => {
    await post(api, '/v1/chats', { sender: 'ann', members: ['bob'], chatId: 'guild' });
    const { url } = await api.said('listening');
    const headers = { traceparent: `00-${TRACE}-${PARENT}-01` };
    const socket = new WebSocket(`${String(url).replace('http', 'ws')}/v1/ws`, { headers });
    await once(socket, 'open');
    const send = async (frame: object): Promise<void> => {
      socket.send(JSON.stringify(frame));
      await once(socket, 'message');
    };
    await send({ subscribe: 'ann' });
    await send({ neither: 1 });
    await send({ typing: 'guild' });
    await send({ post: { chatId: 'unknown', body: 'hello' } });
    socket.close();
    const frames = [
      await spanOf('subscribe /v1/ws'),
      await spanOf('typing /v1/ws'),
      await spanOf('post /v1/ws'),
    ];
    expect(
      frames.map(({ traceId, parentSpanId, kind, attributes }) => [traceId, parentSpanId, kind, attributes]),
    ).toEqual(
      [
        ['subscribe', 200],
        ['typing', 200],
        ['post', 404],
      ].map(([frame, status]) => [
        TRACE,
        PARENT,
        SERVER,
        { 'http.route': '/v1/ws', 'mortise.frame': frame, 'http.response.status_code': status },
      ]),
    );
    expect(collector.spans.filter(({ name }) => name.endsWith('/v1/ws'))).toHaveLength(3);
  });

  test('the last spans are sent before the end', async () => {
    await post(api, '/v1/queues/last/tasks', { name: 'a', payload: 1 });
    expect(await api.end()).toBe(0);
    expect(collector.spans.filter(({ name }) => name === 'send last')).toHaveLength(1);
    expect(await worker.end()).toBe(0);
  });
});

test('a collector that is away is logged, and holds up neither requests nor the end', async () => {
  await using game = new Game();
  const variables = {
    ...variablesOf(game),
    OTEL_TRACES_EXPORTER: 'otlp',
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://user:canary@127.0.0.1:9/canary',
    OTEL_EXPORTER_OTLP_HEADERS: 'authorization=canary',
    OTEL_EXPORTER_OTLP_TIMEOUT: '500',
    OTEL_BSP_SCHEDULE_DELAY: '20',
  };
  await using api = new Program('api', variables, ['--import', watching]);
  await post(api, '/v1/queues/orders/tasks', { name: 'a', payload: 1 });
  await api.said('traces could not be exported');
  await post(api, '/v1/queues/orders/tasks', { name: 'a', payload: 1 });
  const endedAt = performance.now();
  expect(await api.end()).toBe(0);
  expect(performance.now() - endedAt).toBeLessThan(3_000);
  expect(api.output).not.toContain('canary');
  // As it doesn't without a collector.
  expect(api.output).toContain('loaded ');
});

describe('without a collector', () => {
  test.each([{}, { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9', OTEL_SDK_DISABLED: 'true' }])(
    'nothing of OpenTelemetry is loaded, and lines name the trace of the caller: %j',
    async (tracing: Record<string, string>) => {
      await using game = new Game();
      const variables = { ...variablesOf(game), ...tracing };
      await using api = new Program('api', variables, ['--import', watching]);
      await using worker = new Program('worker', variables, ['--import', watching]);
      await game.putPlayers();
      await worker.said('worker has started');
      const headers = { traceparent: `00-${TRACE}-${PARENT}-01`, 'x-request-id': 'reset-2' };
      await post(api, '/v1/market/password-resets', { playerId: 'frank' }, headers);
      expect(await worker.said('mail sent')).toMatchObject({ reqId: 'reset-2', tenant: 'default' });
      const line = await until('the line', () => api.lines.find(({ reqId }) => reqId === 'reset-2'));
      expect(line['traceId']).toBe(TRACE);
      expect(api.output + worker.output).not.toContain('loaded ');
    },
  );
});
