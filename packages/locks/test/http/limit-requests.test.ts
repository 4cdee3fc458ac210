/** The middleware in Express and the hook in Fastify, over HTTP. */
import { afterEach, describe, expect, test } from '@jest/globals';
import { connect, disconnect, freshPrefix } from '@mortise/test-kit';
import express from 'express';
import type { Request } from 'express';
import Fastify from 'fastify';
import type { FastifyRequest } from 'fastify';
import type { Redis } from 'ioredis';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { limitRequests as limitExpress } from '../../src/http/express/index.js';
import { limitRequests as limitFastify } from '../../src/http/fastify/index.js';
import type { LimitedRequest, RequestLimitOptions } from '../../src/http/express/index.js';
import { addressKey } from '../../src/http/address-key.js';

const redis = connect();
const closing: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  await Promise.all(closing.splice(0).map((close) => close()));
});

interface AnyRequest extends LimitedRequest {
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
}
type Options = Partial<RequestLimitOptions<AnyRequest>>;

const HOUR_MS = 3_600_000;

async function serveExpress(client: Redis, options: Options): Promise<string> {
  const app = express();
  app.set('trust proxy', true);
  app.use(limitExpress(client, 'api', { limit: 2, periodMs: HOUR_MS, ...options }));
  app.get('/', (_, response) => void response.send('served'));
  const server = app.listen(0, '127.0.0.1');
  await once(server, 'listening');
  closing.push(() => new Promise((resolve) => server.close(resolve)));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function serveFastify(client: Redis, options: Options): Promise<string> {
  const app = Fastify({ trustProxy: true });
  app.addHook('onRequest', limitFastify(client, 'api', { limit: 2, periodMs: HOUR_MS, ...options }));
  app.get('/', async () => 'served');
  closing.push(() => app.close());
  return app.listen({ port: 0, host: '127.0.0.1' });
}

/** Sends a request as if through a proxy. */
function get(url: string, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(url, { headers: { 'x-forwarded-for': '192.0.2.1', ...headers } });
}

const statusOf = async (...args: Parameters<typeof get>): Promise<number> => (await get(...args)).status;

describe.each([
  ['Express', serveExpress],
  ['Fastify', serveFastify],
])('%s', (_, serve) => {
  test('serves up to the limit, and refuses with the time of the next try', async () => {
    const url = await serve(redis, { prefix: freshPrefix() });
    const first = await get(url);
    expect([first.status, await first.text()]).toEqual([200, 'served']);
    expect(first.headers.get('ratelimit-policy')).toBe('"api";q=2;w=3600');
    expect(first.headers.get('ratelimit')).toBe('"api";r=1;t=1800');
    expect(first.headers.has('retry-after')).toBe(false);
    await get(url);
    const refused = await get(url);
    expect(refused.status).toBe(429);
    expect(refused.headers.get('ratelimit')).toMatch(/^"api";r=0;t=3(600|599)$/);
    expect(refused.headers.get('retry-after')).toMatch(/^1(800|799)$/);
    expect(refused.headers.get('content-type')).toMatch(/^application\/problem\+json/);
    expect(await refused.json()).toEqual({
      type: 'about:blank',
      title: 'Too Many Requests',
      status: 429,
      detail: expect.stringMatching(/^the limit "api" allows the next request in \d+ s$/),
    });
  });

  test('two servers share the limit of an address, and addresses have limits of their own', async () => {
    const prefix = freshPrefix();
    const urls = [await serve(redis, { prefix }), await serve(redis, { prefix })];
    expect(await statusOf(urls[0]!)).toBe(200);
    expect(await statusOf(urls[1]!)).toBe(200);
    expect(await statusOf(urls[0]!)).toBe(429);
    expect(await statusOf(urls[0]!, { 'x-forwarded-for': '192.0.2.2' })).toBe(200);
    const sixes = ['2001:db8::1', '2001:db8::2', '2001:db8:0:0:3::'];
    const statuses: number[] = [];
    for (const address of sixes) statuses.push(await statusOf(urls[0]!, { 'x-forwarded-for': address }));
    expect(statuses).toEqual([200, 200, 429]);
  });

  test('a key function decides whom a request counts for, and the cost how much', async () => {
    const url = await serve(redis, {
      prefix: freshPrefix(),
      key: async ({ headers }) => (headers['x-user'] as string | undefined) ?? null,
      cost: ({ headers }) => Number(headers['x-cost'] ?? 1),
    });
    const unlimited = await get(url);
    expect([unlimited.status, unlimited.headers.has('ratelimit')]).toEqual([200, false]);
    expect(await statusOf(url, { 'x-user': 'ann', 'x-cost': '2' })).toBe(200);
    expect(await statusOf(url, { 'x-user': 'ann' })).toBe(429);
    expect(await statusOf(url, { 'x-user': 'bob' })).toBe(200);
  });

  test('an error of the key function, or a wrong cost, is an error of the server', async () => {
    const prefix = freshPrefix();
    const failing = await serve(redis, {
      prefix,
      key: () => {
        throw new Error('no such user');
      },
    });
    expect(await statusOf(failing)).toBe(500);
    expect(await statusOf(await serve(redis, { prefix, cost: 3 }))).toBe(500);
  });

  test('without Redis requests pass on, or are refused', async () => {
    const client = connect();
    const errors: unknown[] = [];
    const options = { prefix: freshPrefix(), onError: (error: unknown) => errors.push(error) };
    const open = await serve(client, options);
    const closed = await serve(client, { ...options, onUnavailable: 'refuse' });
    disconnect(client);
    expect(await statusOf(open)).toBe(200);
    const refused = await get(closed);
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1']);
    expect(await refused.json()).toMatchObject({ status: 503 });
    expect(errors).toMatchObject([{ code: 'ERR_CLIENT_CLOSED' }, { code: 'ERR_CLIENT_CLOSED' }]);
  });

  test('a Redis that does not answer delays a request by timeoutMs at most', async () => {
    const client = connect();
    const errors: unknown[] = [];
    const onError = (error: unknown): unknown => errors.push(error);
    const url = await serve(client, { prefix: freshPrefix(), timeoutMs: 20, onError });
    expect(await statusOf(url)).toBe(200);
    await redis.client('PAUSE', 400, 'ALL');
    expect(await statusOf(url)).toBe(200);
    expect(errors).toMatchObject([{ message: 'Redis did not answer a take within 20 ms' }]);
    await client.ping();
  });
});

test('a server of Node without a framework takes the middleware', async () => {
  const limit = limitExpress(redis, 'api', { limit: 1, periodMs: HOUR_MS, prefix: freshPrefix() });
  const server = createServer((request, response) => limit(request, response, () => response.end('served')));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  closing.push(() => new Promise((resolve) => server.close(resolve)));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  expect([await statusOf(url), await statusOf(url)]).toEqual([200, 429]);
});

test('the requests of the frameworks have the parts that the functions get', () => {
  const byUrl = limitExpress(redis, 'api', { limit: 1, periodMs: 1, key: ({ path }: Request) => path });
  const byRoute = limitFastify(redis, 'api', { limit: 1, periodMs: 1, key: ({ id }: FastifyRequest) => id });
  expect([typeof byUrl, typeof byRoute]).toEqual(['function', 'function']);
});

test.each([
  ['192.0.2.1', '192.0.2.1'],
  ['::ffff:192.0.2.1', '192.0.2.1'],
  ['2001:db8:a:B:c:d:e:f', '2001:db8:a:b::/64'],
  ['2001:db8::1', '2001:db8:0:0::/64'],
  ['::1', '0:0:0:0::/64'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64'],
  ['', 'unknown'],
])('the address %s counts for %s', (ip, key) => {
  expect(addressKey({ ip, socket: {} })).toBe(key);
});

test('wrong arguments are refused at once', () => {
  const terms = { limit: 1, periodMs: 1_000 };
  expect(() => limitExpress(redis, 'a"b', terms)).toThrow(/printable ASCII/);
  expect(() => limitExpress(redis, 'api', { ...terms, limit: 0 })).toThrow(/limit/);
  expect(() => limitExpress(redis, 'api', { ...terms, timeoutMs: 0 })).toThrow(/timeoutMs/);
  expect(() => limitFastify(redis, 'api', { ...terms, onUnavailable: 'maybe' as 'allow' })).toThrow(
    /onUnavailable/,
  );
  expect(() => limitFastify(redis, 'api', { ...terms, keys: 1 } as never)).toThrow(/keys/);
});
