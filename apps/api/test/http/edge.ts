/** The edge of the API: headers for browsers, other origins, the documentation, and floods of connections and headers. */
import { connect as connectTo } from 'node:net';
import type { Socket } from 'node:net';
import { text } from 'node:stream/consumers';

import { describe, expect, test } from '@jest/globals';
import { until } from '@mortise/test-kit';

import type { Answer, Api } from '../fixture/api.js';
import { startApi } from '../fixture/api.js';
import { boot } from '../fixture/program.js';
import { SocketClient } from '../fixture/streams.js';

const ADMIN = 'mk_admin_0123456789012345678901';
const PAGE = 'https://shop.example.com';
const api = await startApi({ ALLOWED_ORIGINS: PAGE, HSTS_MAX_AGE_S: '3600', MAX_CONNECTIONS: '20' });
const slugOf = ({ json }: Answer): string => String(json?.type).split('/').at(-1)!;

function socketTo({ url }: Api): Socket {
  const { hostname, port } = new URL(url);
  return connectTo(Number(port), hostname).on('error', () => undefined);
}

/** The whole answer to these bytes. */
async function answerTo(bytes: string): Promise<string> {
  const socket = socketTo(api);
  socket.write(bytes);
  return text(socket);
}

describe('every answer', () => {
  const strict = {
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
    'referrer-policy': 'no-referrer',
    'strict-transport-security': 'max-age=3600; includeSubDomains',
    'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  };

  test.each(['/health/live', '/v1/queues', '/v1/nothing', '/v1/%ff', '/openapi.json'])(
    'of %s loads nothing, in no frame',
    async (path) => {
      expect((await api.send({ path })).headers).toMatchObject(strict);
    },
  );

  test.each(['/docs', '/docs/', '/docs/swagger-ui.css', '/docs/swagger-ui-init.js'])(
    'of %s loads from this server alone',
    async (path) => {
      const { headers } = await api.send({ path });
      const policy = headers['content-security-policy'] as string;
      expect(headers).toMatchObject({ ...strict, 'content-security-policy': policy });
      expect(policy.split('; ')).toEqual([
        "default-src 'self'",
        "img-src 'self' data:",
        "style-src 'self' 'unsafe-inline'",
        "object-src 'none'",
        "base-uri 'none'",
        "form-action 'self'",
        "frame-ancestors 'none'",
      ]);
    },
  );

  test('has them, also when it is no HTTP or refuses a WebSocket', async () => {
    const refused = [
      await answerTo('hello\r\n\r\n'),
      await answerTo('CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n'),
      await answerTo(
        'GET /v1/ws HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nOrigin: https://evil.example.com\r\n\r\n',
      ),
    ];
    expect(refused.map((answer) => answer.split(' ')[1])).toEqual(['400', '405', '403']);
    for (const answer of refused)
      for (const [name, value] of Object.entries(strict))
        expect(answer).toContain(`\r\n${name}: ${value}\r\n`);
  });

  test('has no HSTS by default', async () => {
    const plain = await startApi();
    expect((await plain.send({ path: '/v1/queues' })).headers['strict-transport-security']).toBeUndefined();
    await plain.close();
  });
});

describe('a page of another origin', () => {
  const preflight = (origin: string, path = '/v1/queues/q/tasks'): Promise<Answer> =>
    api.send({
      method: 'OPTIONS',
      path,
      headers: {
        origin,
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'authorization,content-type',
      },
    });

  test('that is allowed may ask, read answers and their headers, without cookies', async () => {
    const asked = await preflight(PAGE);
    expect([asked.status, asked.headers]).toEqual([
      204,
      expect.objectContaining({
        'access-control-allow-origin': PAGE,
        'access-control-allow-methods': 'POST, GET, HEAD',
        'access-control-allow-headers': expect.stringContaining('authorization, content-type'),
        'access-control-max-age': '600',
        vary: 'Origin',
      }),
    ]);
    const sent = await api.send({
      method: 'POST',
      path: '/v1/queues/q/tasks',
      headers: { origin: PAGE },
      body: { name: 'n', payload: 1 },
    });
    expect([sent.status, sent.headers['access-control-allow-origin'], sent.headers['vary']]).toEqual([
      201,
      PAGE,
      'Origin',
    ]);
    expect(sent.headers['access-control-expose-headers']).toContain('etag, location, retry-after');
    const refused = await api.send({ path: '/v1/queues/nowhere', headers: { origin: PAGE } });
    expect([refused.status, refused.headers['access-control-allow-origin']]).toEqual([404, PAGE]);
    for (const { headers } of [asked, sent, refused])
      expect(headers['access-control-allow-credentials']).toBeUndefined();
  });

  test('that is allowed reads refusals that come before any route', async () => {
    const undecodable = await api.send({ path: '/v1/%ff', headers: { origin: PAGE } });
    const twice = await answerTo(
      `GET /v1/queues HTTP/1.1\r\nHost: localhost\r\nHost: a\r\nOrigin: ${PAGE}\r\nConnection: close\r\n\r\n`,
    );
    expect([undecodable.status, undecodable.headers['access-control-allow-origin']]).toEqual([400, PAGE]);
    expect(twice.split(' ')[1]).toBe('400');
    expect(twice).toContain(`\r\naccess-control-allow-origin: ${PAGE}\r\n`);
  });

  test.each(['https://evil.example.com', 'null', 'https://shop.example.com.evil.example'])(
    'such as %s may not',
    async (origin) => {
      const asked = await preflight(origin);
      expect([asked.status, asked.headers['access-control-allow-origin']]).toEqual([405, undefined]);
      const read = await api.send({ path: '/v1/queues', headers: { origin } });
      expect([read.status, read.headers['access-control-allow-origin']]).toEqual([200, undefined]);
    },
  );

  test('that hides its origin changes nothing', async () => {
    const headers = { 'sec-fetch-site': 'cross-site' };
    const answer = await api.send({ method: 'POST', path: '/v1/queues/q/pause', headers });
    expect([answer.status, slugOf(answer)]).toEqual([403, 'foreign-origin']);
  });

  test('an address without a route is none for it either', async () => {
    expect((await preflight(PAGE, '/v1/nothing')).headers['access-control-allow-methods']).toBe('');
    const plain = await api.send({ method: 'OPTIONS', path: '/v1/queues' });
    expect(plain.status).toBe(405);
  });
});

describe('the documentation', () => {
  const pages = ['/docs', '/openapi.json', '/docs/swagger-ui-init.js'];

  test('is not there with DOCS=off, nor what leads to it', async () => {
    const closed = await startApi({ DOCS: 'off' });
    for (const path of [...pages, '/', '/v1'])
      expect([path, (await closed.send({ path })).status]).toEqual([path, 404]);
    await closed.close();
    const program = await boot({ DOCS: 'off' });
    expect(program.lines.find(({ msg }) => msg === 'listening')).not.toHaveProperty('docs');
  });

  test('needs ops:read with DOCS=scoped, also by a session', async () => {
    const scoped = await startApi({ DOCS: 'scoped', AUTH: 'keys', ADMIN_KEY: ADMIN });
    const asAdmin = { authorization: `Bearer ${ADMIN}` };
    const { json } = await scoped.send({
      method: 'PUT',
      path: '/v1/admin/keys/narrow',
      headers: asAdmin,
      body: { scopes: ['queues:read'] },
    });
    const session = await scoped.send({ method: 'POST', path: '/v1/session', headers: asAdmin });
    const cookie = session.headers['set-cookie']![0]!.split(';')[0]!;
    for (const path of pages) {
      const statuses = [
        await scoped.send({ path }),
        await scoped.send({ path, headers: { authorization: `Bearer ${json.key}` } }),
        await scoped.send({ path, headers: asAdmin }),
        // The user types the address.
        await scoped.send({ path, headers: { cookie, 'sec-fetch-site': 'none' } }),
      ].map(({ status }) => status);
      expect([path, statuses]).toEqual([path, [401, 403, 200, 200]]);
    }
    await scoped.close();
  });

  test('asks no other server about the document', async () => {
    expect((await api.send({ path: '/docs/swagger-ui-init.js' })).text).toContain('"validatorUrl": null');
  });
});

test('more than 100 headers are refused, also those that Node would leave out', async () => {
  const many = (count: number): Promise<Answer> =>
    api.send({
      path: '/v1/queues',
      headers: Object.fromEntries(Array.from({ length: count }, (_, index) => [`x-${index}`, 'a'])),
    });
  const refused = await many(150);
  expect([refused.status, slugOf(refused)]).toEqual([431, 'headers-too-large']);
  expect((await many(90)).status).toBe(200);
  expect((await many(1_500)).status).toBe(431);
});

test('beyond MAX_CONNECTIONS a request and a WebSocket get 503, a probe its answer, and room comes back', async () => {
  const idle = Array.from({ length: 20 }, () => socketTo(api));
  await until('the flood', async () => (await api.send({ path: '/v1/queues' })).status === 503);
  const refused = await api.send({ path: '/v1/queues' });
  expect([
    slugOf(refused),
    refused.json.limit,
    refused.headers['connection'],
    refused.headers['retry-after'],
  ]).toEqual(['too-many-connections', 20, 'close', '1']);
  await expect(SocketClient.open(api.url)).rejects.toThrow('503 too-many-connections');
  expect((await api.send({ path: '/health/live' })).status).toBe(200);
  for (const socket of idle) socket.destroy();
  await until('room', async () => (await api.send({ path: '/v1/queues' })).status === 200);
});
