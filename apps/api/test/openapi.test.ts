/** /openapi.json is the routes, and a document of OpenAPI 3.1. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { freshPrefix } from '@mortise/test-kit';
import { z } from 'zod';

import { RouteMethods } from '../src/http/route-methods.js';
import type { Api } from './fixture/api.js';
import { startApi } from './fixture/api.js';
import { until } from './fixture/redis.js';

type Json = Record<string, unknown>;
interface Operation {
  operationId: string;
  parameters?: { name: string; in: string }[];
  requestBody?: { content: Record<string, { schema: Json }> };
  responses: Record<
    string,
    { content?: Record<string, { schema?: Json; examples?: Record<string, { value: Json }> }> }
  >;
}

let api: Api;
let document: {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Json> };
};
let operations: [string, Operation][];

beforeAll(async () => {
  api = await startApi({ MORTISE_PREFIX: freshPrefix(), CACHE_TABLES: 'stock' });
  document = (await api.send({ path: '/openapi.json' })).json;
  operations = Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]): [string, Operation] => [
      `${method.toUpperCase()} ${path}`,
      operation,
    ]),
  );
});
afterAll(() => api.app.close());

/** Every value in the document, with the key that it stands under. */
function* walk(value: unknown, key = ''): Generator<[string, unknown]> {
  yield [key, value];
  if (typeof value !== 'object' || value === null) return;
  for (const [name, inner] of Object.entries(value)) yield* walk(inner, name);
}

describe('the document', () => {
  test('has every route that the server has, and no other', () => {
    const page = /^(?:\/docs|\/openapi\.json|\/(?:v1)?$)/;
    const routes = api.app
      .get(RouteMethods)
      .all.filter((route) => !route.startsWith('HEAD ') && !page.test(route.split(' ')[1]!))
      .map((route) => route.replaceAll(/:(\w+)/g, '{$1}'));
    expect(routes.length).toBe(110);
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
      responses: z.record(
        z.string().regex(/^(?:101|[2-5]\d\d)$/),
        z.strictObject({
          description: z.string().min(3),
          content: content.optional(),
          headers: z
            .record(z.string(), z.strictObject({ schema, description: z.string().min(3).optional() }))
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
      components: z.strictObject({ schemas: z.record(z.string().regex(/^[\w.-]+$/), schema) }),
      tags: z.array(z.unknown()),
      servers: z.array(z.unknown()),
    });
    expect(openapi.safeParse(document).error).toBeUndefined();
  });

  test('refers to schemas that it has, and speaks the dialect of 3.1', () => {
    const refs = new Set<string>();
    for (const [key, value] of walk(document)) {
      if (key === '$ref') refs.add(String(value).replace('#/components/schemas/', ''));
      expect(['nullable', '$schema', '$defs']).not.toContain(key);
      // OpenAPI 3.0 has booleans here, JSON Schema numbers.
      expect([key, key.startsWith('exclusiveM') && typeof value !== 'number']).toEqual([key, false]);
    }
    expect([...refs].toSorted()).toEqual(Object.keys(document.components.schemas).toSorted());
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
    expect(bodies.map(([, { operationId }]) => operationId).toSorted()).toEqual([
      'ackFile',
      'ackMessages',
      'acquireLock',
      'acquirePermits',
      'addDevice',
      'boostName',
      'cancelTask',
      'claimTasks',
      'cleanQueue',
      'completeTask',
      'createChat',
      'drainQueue',
      'editMessage',
      'enqueueTask',
      'enqueueTasks',
      'failTask',
      'giveTaskBack',
      'heartbeat',
      'joinChat',
      'list',
      'logLine',
      'moveCursor',
      'muteChat',
      'postMessage',
      'purchase',
      'putName',
      'putNames',
      'putPlayer',
      'putQueue',
      'putSchedule',
      'releaseLock',
      'releasePermits',
      'renewLock',
      'renewPermits',
      'resetPassword',
      'retryTasks',
      'scheduleRow',
      'sendMessage',
      'setPermits',
      'setRole',
      'tellPresence',
      'tellProgress',
      'tellTyping',
    ]);
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
        [200, 201, 204, 403, 404, 409].includes(answer.status),
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
