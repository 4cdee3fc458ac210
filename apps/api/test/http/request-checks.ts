/** Requests that the API refuses before a route sees them: pages of other sites, other host names, bodies and queries that mean nothing here. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { Writable } from 'node:stream';

import { describe, expect, test } from '@jest/globals';
import { until } from '@mortise/test-kit';
import { pino } from 'pino';

import { readConfig } from '../../src/config.js';
import { Origins } from '../../src/http/origins.js';
import type { Problem } from '../../src/problems/problem.js';
import type { Answer, Api, Sent } from '../fixture/api.js';
import { startApi } from '../fixture/api.js';

const lines: Record<string, unknown>[] = [];
const log = pino(
  { level: 'info' },
  new Writable({
    write(chunk, _encoding, callback) {
      lines.push(JSON.parse(String(chunk)) as Record<string, unknown>);
      callback();
    },
  }),
);
const api = await startApi({}, { log });
await api.send({ method: 'POST', path: '/v1/queues/q/tasks', body: { name: 'a', payload: 1 } });

const slugOf = ({ status, json }: Answer): string => `${status} ${String(json?.type).split('/').at(-1)}`;
const refusal = async (sent: Sent, from: Api = api): Promise<string> => slugOf(await from.send(sent));
const pause = { method: 'POST', path: '/v1/queues/q/pause' } as const;
const isPaused = async (): Promise<boolean> => (await api.send({ path: '/v1/queues/q' })).json.isPaused;

/** Sends these bytes, and returns the first line of the answer. */
async function statusLineOf(text: string): Promise<string> {
  const { hostname, port } = new URL(api.url);
  const socket = connect(Number(port), hostname);
  socket.write(text);
  const [data] = (await once(socket, 'data')) as [Buffer];
  socket.destroy();
  return data.toString().split('\r\n', 1)[0]!;
}

describe('a page', () => {
  test.each(['https://evil.example', 'http://127.0.0.1:1', 'null', 'nonsense'])(
    'of %s changes nothing',
    async (origin) => {
      expect(await refusal({ ...pause, headers: { origin } })).toBe('403 foreign-origin');
      const release = { method: 'POST', path: '/v1/locks/l/force-release', headers: { origin } };
      expect(await refusal(release)).toBe('403 foreign-origin');
      expect(await isPaused()).toBe(false);
    },
  );

  test('of the API itself, as /docs, may do all', async () => {
    const { status } = await api.send({ ...pause, headers: { origin: api.url } });
    expect(status).toBe(204);
    expect((await api.send({ method: 'POST', path: '/v1/queues/q/resume' })).status).toBe(204);
  });

  test('of the list may do all, and then those of the host may not', async () => {
    const listed = await startApi({ ALLOWED_ORIGINS: 'https://shop.example' });
    const body = { name: 'a', payload: 1 };
    const post = { method: 'POST', path: '/v1/queues/q/tasks', body };
    expect((await listed.send({ ...post, headers: { origin: 'https://shop.example' } })).status).toBe(201);
    expect(await refusal({ ...post, headers: { origin: listed.url } }, listed)).toBe('403 foreign-origin');
  });
});

describe('the name of the host', () => {
  test.each(['evil.example', 'evil.example:3000', '10.0.0.1', 'localhost.evil.example'])(
    '%s is refused by an API on loopback',
    async (host) => {
      expect(await refusal({ path: '/v1/queues', headers: { host } })).toBe('403 foreign-host');
    },
  );

  test.each(['localhost', 'LOCALHOST:80', '127.0.0.1:3000', '[::1]:3000'])('%s is served', async (host) => {
    expect((await api.send({ path: '/v1/queues', headers: { host } })).status).toBe(200);
  });

  test.each([
    [{ HOST: '0.0.0.0' }, 'api.example.com', true],
    [{ HOST: '10.1.2.3' }, 'api.example.com', true],
    [{ HOST: '0.0.0.0', ALLOWED_HOSTS: 'api.example.com,[::1]' }, 'api.example.com:443', true],
    [{ HOST: '0.0.0.0', ALLOWED_HOSTS: 'api.example.com,[::1]' }, '[::1]:80', true],
    [{ HOST: '0.0.0.0', ALLOWED_HOSTS: 'api.example.com' }, '127.0.0.1', false],
    [{ ALLOWED_HOSTS: 'API.example.com' }, 'api.example.com', true],
    [{ ALLOWED_HOSTS: 'api.example.com' }, 'localhost', false],
    [{ HOST: '::1' }, 'evil.example', false],
  ])('with %j, %s is served: %j', (env, host, isServed) => {
    const origins = new Origins(readConfig({ ADMIN_KEY: 'mk_admin_0123456789012345678901', ...env }));
    let refused: unknown;
    try {
      origins.requireOwn('GET', { host });
    } catch (error) {
      refused = (error as Problem).slug;
    }
    expect(refused).toBe(isServed ? undefined : 'foreign-host');
  });

  test('is given once', async () => {
    const head = 'GET /v1/queues HTTP/1.1\r\nHost: 127.0.0.1\r\nhost: 127.0.0.1\r\n\r\n';
    expect(await statusLineOf(head)).toBe('HTTP/1.1 400 Bad Request');
  });
});

describe('a query', () => {
  test.each(['/v1/queues?nothing=1', '/v1/queues/q?a', '/health/ready?a=1', '/v1/queues/q/tasks?stat=dead'])(
    '%s with an unknown key is refused',
    async (path) => expect(await refusal({ path })).toBe('400 invalid-query'),
  );

  test('of a POST, too, which then does nothing', async () => {
    expect(await refusal({ ...pause, path: `${pause.path}?in=1h` })).toBe('400 invalid-query');
    expect(await isPaused()).toBe(false);
  });

  test.each(['%ff', '%', '%c3%28', '%ed%a0%80'])('with the encoding %s is refused', async (text) => {
    expect(await refusal({ path: `/v1/contacts/bill?prefix=${text}` })).toBe('400 malformed-url');
  });
});

describe('a body', () => {
  const post = { method: 'POST', path: '/v1/queues/q/tasks' } as const;
  const withPayload = (payload: string): Sent => ({ ...post, body: `{"name":"a","payload":${payload}}` });

  test.each([
    '9007199254740993',
    '-9007199254740993',
    '123456789012345678901',
    '[{"a":9007199254740993}]',
    '12345678901234567168',
    '9007199254740993.0',
    '9.007199254740993e15',
    '900719925474099300e-2',
  ])('with %s, which JavaScript rounds, is refused', async (payload) =>
    expect(await refusal(withPayload(payload))).toBe('400 invalid-body'),
  );

  test.each(['1e309', '-1e309', '[1E+400]'])(
    'with %s, which JavaScript cannot hold, is refused',
    async (payload) => {
      expect(await refusal(withPayload(payload))).toBe('400 invalid-body');
    },
  );

  test.each([
    ['9007199254740992', 2 ** 53],
    ['"9007199254740993"', '9007199254740993'],
    ['{"a\\"1":"\\\\9007199254740993"}', { 'a"1': '\\9007199254740993' }],
    ['100000000000000000000', 1e20],
    ['9007199254740992.00', 2 ** 53],
    ['1234567890123456.5', 1_234_567_890_123_456.5],
    ['[0.0000000000000000, 1.000000000000000e3]', [0, 1_000]],
    ['1e23', 1e23],
    ['0.12345678901234567890', 0.123_456_789_012_345_68],
    ['1e308', 1e308],
    ['1e-400', 0],
  ])('with %s is taken', async (payload, value) => {
    const { status, json } = await api.send(withPayload(payload));
    expect(status).toBe(201);
    expect((await api.send({ path: `/v1/queues/q/tasks/${json.id}` })).json.payload).toEqual(value);
  });

  test.each([
    { 'content-encoding': 'gzip' },
    { 'content-type': 'application/json; charset=iso-8859-1' },
    { 'content-type': 'application/json;charset="utf-16"' },
  ])('with %j is refused', async (headers) => {
    expect(await refusal({ ...withPayload('1'), headers })).toBe('415 unsupported-media-type');
  });

  test.each([
    { 'content-encoding': 'identity' },
    { 'content-type': 'application/json; charset=UTF-8' },
    { 'content-type': 'application/json;charset="utf-8"' },
  ])('with %j is taken', async (headers) => {
    expect((await api.send({ ...withPayload('1'), headers })).status).toBe(201);
  });

  test('that its client breaks off is no failure of the server', async () => {
    const { hostname, port } = new URL(api.url);
    const socket = connect(Number(port), hostname);
    socket.write(`POST ${post.path} HTTP/1.1\r\nHost: ${hostname}\r\nContent-Type: application/json\r\n`);
    socket.write('Content-Length: 100\r\n\r\n{"na');
    const server = api.app.getHttpServer();
    await once(server, 'request');
    socket.destroy();
    await until('its end', () => lines.some(({ msg, status }) => msg === 'request' && status === 400));
    expect(lines.filter(({ level }) => Number(level) >= 50)).toEqual([]);
  });
});

test('a lock that is held: Retry-After says when its lease ends', async () => {
  const acquire = { method: 'POST', path: '/v1/locks/held/acquire' } as const;
  await api.send({ ...acquire, body: { leaseMs: 60_000 } });
  const { status, headers } = await api.send({ ...acquire, body: { leaseMs: 1_000, waitMs: 0 } });
  expect(status).toBe(409);
  expect(Number(headers['retry-after'])).toBeGreaterThan(50);
  expect(Number(headers['retry-after'])).toBeLessThanOrEqual(60);
});

test('waits and probes that a shutdown ends are no failures of the server', async () => {
  const ending = await startApi({}, { log });
  lines.length = 0;
  const waiting = [
    ending.send({ method: 'POST', path: '/v1/queues/q/claims', body: { waitMs: 20_000 } }),
    ending.send({ method: 'POST', path: '/v1/queues/other/claims', body: { waitMs: 20_000 } }),
  ];
  const server = ending.app.getHttpServer();
  await once(server, 'request');
  const closed = ending.close();
  expect(await Promise.all(waiting.map(async (answer) => slugOf(await answer)))).toEqual([
    '503 shutting-down',
    '503 shutting-down',
  ]);
  await closed;
  expect(lines.filter(({ level }) => Number(level) >= 40)).toEqual([]);
});
