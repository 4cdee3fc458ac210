/** The same wrong bodies, names and keys for each route that takes them: a problem of a stable type, and nothing changes. */
import { describe, expect, test } from '@jest/globals';

import type { Answer, Row } from '../fixture/api.js';
import { HOSTILE, HOSTILE_IDS, others, refuseEach, send } from '../fixture/refusals.js';
import { WRITES } from '../fixture/writes.js';

interface Operation {
  readonly parameters?: readonly { name: string; in: string; required?: boolean }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, unknown>> };
}

/** Leases that a body needs. */
const LEASES = [
  { json: { holder: 'q0-3zLcXb9dTt2Vw.1k.1000', items: [{ lease: '0-6f3a21c4' }] } },
] as never as Answer[];
/** Values of parameters that have other limits than names, and of required queries. */
const VALUES: Record<string, string> = {
  by: 'frank',
  receiver: 'ann',
  name: 'a',
  sender: 'frank',
  messageId: '1',
  upToId: '1',
};

const { paths } = (await send('GET /openapi.json')).json;
/** All operations by method and path. */
const operations = Object.entries<Record<string, Operation>>(paths).flatMap(([path, item]) =>
  Object.entries(item).map(([method, operation]) => [method.toUpperCase(), path, operation] as const),
);
/** The routes with JSON bodies, each with an accepted body. */
const bodies = operations
  .filter(([, , { requestBody }]) => requestBody && 'application/json' in requestBody.content)
  .map(([method, path, { parameters = [] }]) => {
    const write = WRITES[`${method} ${path.replace('/v1', '')}`]!;
    const body = typeof write.body === 'function' ? write.body(LEASES) : write.body;
    return {
      target: `${method} /v1${write.path.replace('FILE', 'logs:1')}`,
      whole: body as Record<string, unknown>,
      takesKey: parameters.some(({ name }) => name === 'Idempotency-Key'),
    };
  });

describe('each body', () => {
  refuseEach('malformed-json', 'with', ['', '{'], (body) => bodies.map(({ target }) => [target, body]));

  test('that is missing is called so', async () => {
    const drain = await send('POST /v1/queues/q/drain');
    expect([drain.status, drain.json.detail]).toEqual([
      400,
      expect.stringContaining('no body: send a JSON object'),
    ]);
  });

  refuseEach('invalid-body', 'with', ['"text"', '[]', 'null'], (body) =>
    bodies.map(({ target }) => [target, body]),
  );

  test('with an unknown member, or one called __proto__', async () => {
    const hostile = (whole: object): string =>
      JSON.stringify(whole).replace(
        '{',
        Object.keys(whole).length > 0 ? '{"__proto__":{},' : '{"__proto__":{}',
      );
    const wrong = bodies.flatMap(({ target, whole }): Row[] => [
      [target, { ...whole, extra: 1 }],
      [target, hostile(whole)],
    ]);
    expect(await others('invalid-body', wrong)).toEqual([]);
  });

  test('of another media type', async () => {
    const type = { 'content-type': 'text/plain' };
    const wrong = bodies.map(({ target, whole }): Row => [target, JSON.stringify(whole), type]);
    expect(await others('unsupported-media-type', wrong)).toEqual([]);
  });

  test('of more than 1 MiB', async () => {
    const large = Buffer.alloc(1_100_000, ' ');
    const wrong = bodies.map(({ target }): Row => [target, large]);
    expect(await others('body-too-large', wrong)).toEqual([]);
  });
});

const keys = ['a b', '', 'x'.repeat(129), '..', '"a'];
refuseEach('invalid-idempotency-key', 'the Idempotency-Key', keys, (key) =>
  bodies
    .filter(({ takesKey }) => takesKey)
    .map(({ target, whole }) => [target, whole, { 'idempotency-key': key }]),
);

const ofPackages = /^\/v1\/(?:contacts|file-channels|files|mailboxes|chats|members)\//;
const ofGuilds = /^\/v1\/address-books\//;

refuseEach('invalid-id', 'the name in each path', HOSTILE, (name) => rowsWith(name, ofPackages));
refuseEach('invalid-id', 'the id in each path', HOSTILE_IDS, (id) => rowsWith(id, ofGuilds));

/** Each route with the name in place of each of its parameters. */
function rowsWith(name: string, routes: RegExp): Row[] {
  const coded = encodeURIComponent(name).replaceAll('.', '%2e');
  const named = operations.filter(([, path]) => routes.test(path));
  return named.flatMap(([method, path, { parameters = [], requestBody }]) => {
    const query = parameters.filter((each) => each.in === 'query' && each.required);
    const search = new URLSearchParams(
      query.map((each): [string, string] => [each.name, VALUES[each.name]!]),
    );
    const ids = parameters.filter((each) => each.in === 'path' && !/^(?:contact|messageId)$/.test(each.name));
    const isUpload = requestBody !== undefined && !('application/json' in requestBody.content);
    const { body } = WRITES[`${method} ${path.replace('/v1', '')}`] ?? {};
    return ids.map((wrong): Row => {
      const filled = path.replaceAll(/\{(\w+)\}/g, (_, id: string) => {
        const value = id === wrong.name ? coded : (VALUES[id] ?? 'x');
        return path.startsWith('/v1/files/') ? `${value}:1` : value;
      });
      const target = `${method} ${filled}?${search.toString()}`;
      if (isUpload) return [target, 'text', { 'content-type': 'application/octet-stream' }];
      return requestBody ? [target, body] : [target];
    });
  });
}
