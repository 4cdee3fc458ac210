/** The server: answers of all routes, their document, bodies of JSON, waits, and bytes that are not HTTP. */
import { EventEmitter, once } from 'node:events';
import { connect } from 'node:net';
import { PassThrough } from 'node:stream';

import { describe, expect, test } from '@jest/globals';
import { until } from '@mortise/test-kit';
import type { FastifyReply } from 'fastify';
import { z } from 'zod';

import { MAX_DEPTH, parseJsonBody } from '../../src/http/json-body.js';
import { MAX_WAITS, OpenWaits } from '../../src/limits/open-waits.js';
import type { Quotas } from '../../src/limits/quotas.js';
import { inTenant } from '../../src/tenants/tenancy.js';
import { RouteMethods } from '../../src/http/route-methods.js';
import { openShop, startApi } from '../fixture/api.js';

const api = await startApi({ CACHE_TABLES: 'stock' });
await openShop(api);

describe('every answer', () => {
  test('has a request id, the given one if it is harmless', async () => {
    const ids = ['abc-123', 'a b', 'x'.repeat(65), '<script>'];
    const given = await Promise.all(
      ids.map((id) => api.send({ path: '/nowhere', headers: { 'x-request-id': id } })),
    );
    expect(given[0]!.json.instance).toBe('abc-123');
    for (const { headers, json } of given) {
      expect(headers['x-request-id']).toBe(json.instance);
      expect(json.instance).toMatch(/^[A-Za-z0-9-]{1,64}$/);
      expect(headers['x-content-type-options']).toBe('nosniff');
    }
  });

  test('does not name the software', async () => {
    const { headers } = await api.send({ path: '/health/live' });
    expect(Object.keys(headers)).not.toEqual(expect.arrayContaining(['x-powered-by']));
    expect(headers).not.toHaveProperty('server');
  });

  test('to HEAD is that to GET without its body', async () => {
    const { status, text } = await api.send({ method: 'HEAD', path: '/health/ready' });
    expect([status, text]).toEqual([200, '']);
  });
});

const GARBAGE = 'GARBAGE\r\n\r\n';
const TUNNEL = 'CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\r\n';
const BROKEN_BODY =
  'POST /v1/market/listings HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n';

const get = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`;

function purchase(body: object): string {
  const json = JSON.stringify(body);
  const head =
    'POST /v1/market/listings/offer/purchases HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json';
  return `${head}\r\nContent-Length: ${json.length}\r\n\r\n${json}`;
}

/** Sends bytes in one packet, and gives status and body of each answer, in order, when the server has closed. */
function exchange(bytes: string, { isEnded = false } = {}): Promise<[number, unknown][]> {
  const { hostname, port } = new URL(api.url);
  return new Promise((resolve, reject) => {
    let text = '';
    const socket = connect(Number(port), hostname)
      .on('data', (chunk) => (text += chunk.toString()))
      .on('close', () => {
        const answers = text.split('HTTP/1.1 ').slice(1);
        resolve(
          answers.map((answer) => [Number(answer.slice(0, 3)), JSON.parse(answer.split('\r\n\r\n')[1]!)]),
        );
      })
      .on('error', reject);
    if (isEnded) socket.end(bytes);
    else socket.write(bytes);
  });
}

const problem = (slug: string): unknown =>
  expect.objectContaining({ type: `https://mortise.dev/problems/${slug}` });

describe('garbage', () => {
  test('after a purchase: the receipt comes first', async () => {
    const answers = await exchange(purchase({ buyerId: 'bill', expectedPrice: 97 }) + GARBAGE);
    expect(answers).toEqual([
      [201, expect.objectContaining({ listingId: 'offer', buyerId: 'bill', price: 97 })],
      [400, problem('malformed-request')],
    ]);
  });

  test('after several requests: each has its answer, in order', async () => {
    const requests = ['/v1/market/players/frank', '/v1/market/players/nobody', '/health/live'].map(get);
    expect(await exchange(requests.join('') + GARBAGE)).toEqual([
      [200, expect.objectContaining({ id: 'frank' })],
      [404, problem('unknown-player')],
      [200, { status: 'live' }],
      [400, problem('malformed-request')],
    ]);
  });

  test('in many packets has one answer', async () => {
    const { hostname, port } = new URL(api.url);
    const text = await new Promise<string>((resolve) => {
      let received = '';
      const socket = connect({ port: Number(port), host: hostname, noDelay: true })
        .on('data', (chunk) => (received += chunk.toString()))
        .on('error', () => undefined)
        .on('close', () => resolve(received));
      socket.write(get('/v1/market/players/frank') + GARBAGE, () =>
        socket.write(GARBAGE, () => socket.write(GARBAGE)),
      );
    });
    expect(text.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 400']);
  });

  test('instead of a body is refused at once, after the answers before it', async () => {
    const refusal = [400, problem('malformed-request')];
    expect(await exchange(BROKEN_BODY)).toEqual([refusal]);
    const frank = get('/v1/market/players/frank');
    expect(await exchange(frank + BROKEN_BODY)).toEqual([[200, expect.anything()], refusal]);
  });
});

test('a tunnel after a request is refused after its answer', async () => {
  expect(await exchange(get('/v1/market/players/frank') + TUNNEL)).toEqual([
    [200, expect.objectContaining({ id: 'frank' })],
    [405, expect.objectContaining({ allowed: [] })],
  ]);
});

test('a client that ends its side after its request gets the answer', async () => {
  expect(await exchange(get('/v1/market/players/frank'), { isEnded: true })).toEqual([
    [200, expect.objectContaining({ id: 'frank' })],
  ]);
});

const parse = (text: string): unknown => parseJsonBody(Buffer.from(text));
const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth);
const object = (depth: number): string => `${'{"a":'.repeat(depth)}0${'}'.repeat(depth)}`;

describe('parseJsonBody', () => {
  test.each(['null', '0', '"☃😀"', '[]', '{}', '{"a":[{"b":null}],"proto":1}', ' {"a":1} '])(
    'reads %j',
    (text) => {
      expect(parse(text)).toEqual(JSON.parse(text));
    },
  );

  test.each([
    '{"__proto__":1}',
    '{"a":{"__proto__":{}}}',
    '[{"__pr\\u006fto__":1}]',
    '{"constructor":{"prototype":{}}}',
    '{"a":[{"constructor":1}]}',
    '{"prototype":1}',
    '"\\ud800"',
    '["a\\udc00"]',
    '{"\\ud800":1}',
    '{"a":["\\udfff\\ud800"]}',
  ])('refuses %j', (text) => {
    expect(() => parse(text)).toThrow(expect.objectContaining({ slug: 'invalid-body' }));
  });

  test('bears depth 64 and refuses 65 and 30,000, of lists and objects', () => {
    expect(parse(nested(MAX_DEPTH))).toBeInstanceOf(Array);
    expect(parse(object(MAX_DEPTH))).toBeInstanceOf(Object);
    for (const text of [nested(65), nested(30_000), object(65), object(30_000)]) {
      expect(() => parse(text)).toThrow('the body is nested more than 64 levels');
    }
  });

  test.each(['', ' ', '{', 'NaN', "{'a':1}", '[1,]', '{"a":1}x', '\u0000', '"\u0000"'])(
    '%j is no JSON',
    (text) => {
      expect(() => parse(text)).toThrow(
        expect.objectContaining({ slug: 'malformed-json', detail: undefined }),
      );
    },
  );

  test.each(['22ff22', '22eda08022', '22c022'])('the bytes %s are not UTF-8', (bytes) => {
    expect(() => parseJsonBody(Buffer.from(bytes, 'hex'))).toThrow(
      expect.objectContaining({ slug: 'malformed-json' }),
    );
  });

  // A walk that is not linear takes seconds. CPU time, and the least of a few: others may keep the machine busy.
  test('of 64 KiB takes a few ms of CPU time, however it is nested', () => {
    const worst = [nested(32_768), `[${'{},'.repeat(21_000)}0]`, `{${'"a":1,'.repeat(10_000)}"b":1}`];
    for (const text of worst) {
      const runs = Array.from({ length: 5 }, () => {
        const before = process.cpuUsage();
        try {
          parse(text);
        } catch {
          // Refused or not: the time counts.
        }
        const { user, system } = process.cpuUsage(before);
        return (user + system) / 1_000;
      });
      expect(Math.min(...runs)).toBeLessThan(200);
    }
  });
});

/** Of the tenant of the deployment. */
const NO_QUOTAS = { require: async () => undefined } as unknown as Quotas;

describe('OpenWaits', () => {
  const run = <T>(waits: OpenWaits, ...args: Parameters<typeof waits.run<T>>): Promise<T> =>
    inTenant('default', () => waits.run(...args));

  /** The parts of a reply that a wait reads. */
  function connection(): { reply: FastifyReply; socket: PassThrough; raw: EventEmitter } {
    const socket = new PassThrough();
    const raw = new EventEmitter();
    return { reply: { raw, request: { raw: { socket } } } as unknown as FastifyReply, socket, raw };
  }

  const untilAborted = async (signal: AbortSignal): Promise<void> => {
    if (!signal.aborted) await once(signal, 'abort');
    signal.throwIfAborted();
  };

  test('there are so many waits at most, until one ends; who does not wait is let in', async () => {
    const waits = new OpenWaits(NO_QUOTAS);
    const open = Array.from({ length: MAX_WAITS }, connection);
    const ended = open.map(({ reply }) =>
      run(waits, reply, 1, untilAborted).catch(({ slug }) => slug as string),
    );
    const { reply } = connection();
    const full = { slug: 'too-many-waits', fields: { limit: MAX_WAITS } };
    await expect(run(waits, reply, 1, async () => 'done')).rejects.toMatchObject(full);
    expect(await run(waits, reply, 0, async () => 'done')).toBe('done');
    open[0]!.raw.emit('close');
    expect(await ended[0]).toBe('lock-timeout');
    expect(await run(waits, reply, 1, async () => 'done')).toBe('done');

    waits.onModuleDestroy();
    expect(new Set(await Promise.all(ended.slice(1)))).toEqual(new Set(['shutting-down']));
    await expect(run(waits, reply, 0, async () => 'done')).rejects.toMatchObject({ slug: 'shutting-down' });
  });

  test('a client that was gone before is not waited for', async () => {
    const { reply, socket } = connection();
    socket.end();
    socket.resume();
    await once(socket, 'end');
    await expect(run(new OpenWaits(NO_QUOTAS), reply, 1, untilAborted)).rejects.toMatchObject({
      slug: 'lock-timeout',
    });
  });

  test('a wait leaves no listener behind', async () => {
    const { reply, socket, raw } = connection();
    const listeners = (): number => socket.listenerCount('end') + raw.listenerCount('close');
    const before = listeners();
    await run(new OpenWaits(NO_QUOTAS), reply, 1, async () => {
      expect(listeners()).toBe(before + 2);
    });
    expect(listeners()).toBe(before);
  });
});

type Json = Record<string, unknown>;
interface Content {
  schema?: Json;
  examples?: Record<string, { value: Json }>;
}
interface Operation {
  operationId: string;
  parameters?: { name: string; in: string }[];
  requestBody?: { content: Record<string, { schema: Json }> };
  responses: Record<string, { content?: Record<string, Content> }>;
}

const document: {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Json> };
} = (await api.send({ path: '/openapi.json' })).json;
const operations = Object.entries(document.paths).flatMap(([path, item]) =>
  Object.entries(item).map(([method, operation]): [string, Operation] => [
    `${method.toUpperCase()} ${path}`,
    operation,
  ]),
);

/** Every value in the document, with the key that it stands under. */
function* walk(value: unknown, key = ''): Generator<[string, unknown]> {
  yield [key, value];
  if (typeof value !== 'object' || value === null) return;
  for (const [name, inner] of Object.entries(value)) yield* walk(inner, name);
}

describe('the OpenAPI document', () => {
  test('has every route that the server has, and no other', () => {
    const page = /^(?:\/docs|\/openapi\.json|\/(?:v1)?$)/;
    const routes = api.app
      .get(RouteMethods)
      .all.filter((route) => !route.startsWith('HEAD ') && !page.test(route.split(' ')[1]!))
      .map((route) => route.replaceAll(/:(\w+)/g, '{$1}'));
    expect(routes.length).toBe(173);
    expect(operations.map(([route]) => route).toSorted()).toEqual(routes.toSorted());
  });

  test('keeps to the shape of OpenAPI 3.1', () => {
    const schema = z.record(z.string(), z.unknown());
    const content = z.record(
      z.string().regex(/^(?:application\/|text\/event-stream$)/),
      z.strictObject({
        schema,
        examples: z.record(z.string(), z.strictObject({ value: schema })).optional(),
      }),
    );
    const operation = z.strictObject({
      operationId: z.string().regex(/^[a-zA-Z]+$/),
      summary: z.string().min(5),
      description: z.string().optional(),
      tags: z.array(z.string()).length(1),
      parameters: z.array(
        z.strictObject({
          name: z.string(),
          in: z.enum(['path', 'query', 'header']),
          required: z.boolean(),
          description: z.string().optional(),
          example: z.string().optional(),
          schema,
        }),
      ),
      requestBody: z.strictObject({ required: z.literal(true), content }).optional(),
      security: z.array(z.strictObject({ apiKey: z.array(z.string()).max(1) })).max(1),
      responses: z.record(
        z.string().regex(/^(?:101|[2-5]\d\d)$/),
        z.strictObject({
          description: z.string().min(3),
          content: content.optional(),
          headers: z
            .record(z.string(), z.strictObject({ $ref: z.string().startsWith('#/components/headers/') }))
            .optional(),
        }),
      ),
    });
    const openapi = z.strictObject({
      openapi: z.literal('3.1.0'),
      info: z.looseObject({
        title: z.string(),
        version: z.string(),
        license: z.looseObject({ name: z.string() }),
      }),
      paths: z.record(
        z.string().startsWith('/'),
        z.partialRecord(z.enum(['get', 'put', 'post', 'patch', 'delete']), operation),
      ),
      components: z.strictObject({
        securitySchemes: z.strictObject({
          apiKey: z.looseObject({ type: z.literal('http'), scheme: z.literal('bearer') }),
        }),
        schemas: z.record(z.string().regex(/^[\w.-]+$/), schema),
        headers: z.record(z.string(), z.strictObject({ schema, description: z.string().min(3) })),
      }),
      tags: z.array(z.unknown()),
      servers: z.array(z.unknown()),
    });
    expect(openapi.safeParse(document).error).toBeUndefined();
  });

  test('refers to schemas that it has, and speaks the dialect of 3.1', () => {
    const refs = new Set<string>();
    for (const [key, value] of walk(document)) {
      if (key === '$ref') refs.add(String(value));
      expect(['nullable', '$schema', '$defs']).not.toContain(key);
      // OpenAPI 3.0 has booleans here, JSON Schema numbers.
      expect([key, key.startsWith('exclusiveM') && typeof value !== 'number']).toEqual([key, false]);
    }
    const components = Object.entries(document.components).flatMap(([kind, named]) =>
      kind === 'securitySchemes' ? [] : Object.keys(named).map((name) => `#/components/${kind}/${name}`),
    );
    expect([...refs].toSorted()).toEqual(components.toSorted());
  });

  test('names each operation once, and each part of each path', () => {
    expect(new Set(operations.map(([, { operationId }]) => operationId)).size).toBe(operations.length);
    for (const [route, { parameters = [] }] of operations) {
      const inPath = parameters.filter((parameter) => parameter.in === 'path').map(({ name }) => name);
      expect([route, inPath]).toEqual([route, Array.from(route.matchAll(/\{(\w+)\}/g), ([, name]) => name)]);
    }
  });

  test('documents a success and the problems of every operation', () => {
    for (const [route, { responses }] of operations) {
      const statuses = Object.keys(responses);
      expect([route, statuses.some((status) => /^(?:2|101$)/.test(status))]).toEqual([route, true]);
      const usual = route.endsWith('/live') ? [] : ['500', '503'];
      expect([route, statuses]).toEqual([route, expect.arrayContaining(usual)]);
      for (const [status, { content = {} }] of Object.entries(responses)) {
        if (status < '400') continue;
        const { schema, examples = {} } = content['application/problem+json']!;
        expect(schema).toEqual({ $ref: '#/components/schemas/Problem' });
        for (const { value } of Object.values(examples)) expect(value['status']).toBe(Number(status));
      }
    }
  });

  test('has an example of each body, which the route understands', async () => {
    const bodies = operations.filter(([, { requestBody }]) => requestBody?.content['application/json']);
    expect(
      bodies
        .map(([, { operationId }]) => operationId)
        .toSorted()
        .join(' '),
    ).toBe(
      'ackFile ackMessages acquireLock acquireLocks acquirePermits acquireSide addDevice boostName cancelFlow cancelTask claimTasks ' +
        'cleanQueue completeTask createChat deliverEvent drainQueue editMessage enqueueFlow enqueueTask enqueueTasks failTask forceReleasePermits forceReleaseSide ' +
        'giveTaskBack heartbeat invalidateTag joinChat list loadCacheEntry logLine moveCursor muteChat postMessage postWebhook prioritizeTask purchase putCacheEntry putKey putName ' +
        'putNames putPlayer putQueue putSchedule putTenant releaseLock releaseLocks releasePermits releaseSide renewLock renewLocks ' +
        'renewPermits renewSide ' +
        'replacePayload rescheduleTask resetPassword retryTasks rotateKey scheduleRow sendMessage setPermits setRole startOperation storeCursor storeStep ' +
        'takePermits tellPresence tellProgress tellTyping touchContacts waitForEvent',
    );
    for (const [route, { requestBody }] of bodies) {
      const { $ref } = requestBody!.content['application/json']!.schema as { $ref: string };
      const { example } = document.components.schemas[$ref.split('/').at(-1)!] as { example: Json };
      const [method, path] = route
        .replaceAll('{messageId}', '1')
        .replaceAll('/files/{id}', '/files/logs:1')
        .replaceAll(/\{\w+\}/g, 'some-id')
        .replace(/\/address-books\/.*/, '$&?by=some-id')
        .split(' ') as [string, string];
      // On a busy machine Redis may be slow to answer.
      const answer = await until('an answer', async () => {
        const given = await api.send({ method, path, body: example });
        return given.status !== 503 && given;
      });
      expect([
        route,
        [200, 201, 202, 204, 403, 404, 409].includes(answer.status),
        answer.json ?? answer.status,
      ]).toEqual([route, true, expect.anything()]);
    }
  });
});

test.each(['/', '/v1'])('%s leads to /docs', async (path) => {
  const { status, headers } = await api.send({ path });
  expect([status, headers.location]).toEqual([302, '/docs']);
});

test('/docs is a page that shows the document', async () => {
  const page = await api.send({ path: '/docs' });
  expect([page.status, page.headers['content-type']]).toEqual([200, 'text/html']);
  expect(page.text).toContain('swagger-ui');
  const script = await api.send({ path: '/docs/swagger-ui-init.js' });
  expect(script.text).toContain('/v1/market/listings/{id}/purchases');
  expect((await api.send({ path: '/docs/swagger-ui.css' })).status).toBe(200);
});
