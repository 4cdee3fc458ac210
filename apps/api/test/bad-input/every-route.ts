/** The same wrong bodies, names and keys for each route that takes them: a problem of a stable type, and nothing changes. */
import { beforeAll, describe, expect, test } from '@jest/globals';

import type { ProblemSlug } from '../../src/problems/catalogue.js';
import type { Answer, Sent } from '../fixture/api.js';
import { HOSTILE, row } from '../fixture/refusals.js';
import type { Shop } from '../fixture/refusals.js';
import { WRITES } from '../fixture/writes.js';

export function refuseInEveryRoute(shop: Shop): void {
  interface Operation {
    readonly parameters?: readonly { name: string; in: string; required?: boolean }[];
    readonly requestBody?: { readonly content: Readonly<Record<string, unknown>> };
  }

  /** All operations by method and path. */
  let operations: [method: string, path: string, operation: Operation][];
  /** The routes with JSON bodies, each with an accepted body. */
  let bodies: { sent: Sent; whole: Record<string, unknown>; takesKey: boolean }[];

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
  };

  beforeAll(async () => {
    const { paths } = (await shop.send(row('GET /openapi.json'))).json;
    operations = Object.entries<Record<string, Operation>>(paths).flatMap(([path, item]) =>
      Object.entries(item).map(([method, operation]): (typeof operations)[number] => [
        method.toUpperCase(),
        path,
        operation,
      ]),
    );
    bodies = operations
      .filter(([, , { requestBody }]) => requestBody && 'application/json' in requestBody.content)
      .map(([method, path, { parameters = [] }]) => {
        const write = WRITES[`${method} ${path.replace('/v1', '')}`]!;
        const body = typeof write.body === 'function' ? write.body(LEASES) : write.body;
        return {
          sent: { method, path: `/v1${write.path.replace('FILE', 'logs:1')}` },
          whole: body as Record<string, unknown>,
          takesKey: parameters.some(({ name }) => name === 'Idempotency-Key'),
        };
      });
  });

  describe('each body', () => {
    test.each<[string, ProblemSlug, string]>([
      ['nothing', 'malformed-json', ''],
      ['no JSON', 'malformed-json', '{'],
      ['another type', 'invalid-body', '"text"'],
      ['a list', 'invalid-body', '[]'],
      ['null', 'invalid-body', 'null'],
    ])('that is %s', async (_, slug, body) => {
      expect(await shop.others(slug, ...bodies.map(({ sent }) => ({ ...sent, body })))).toEqual([]);
    });

    test('with an unknown member, or one called __proto__', async () => {
      expect(
        await shop.others(
          'invalid-body',
          ...bodies.map(({ sent, whole }) => ({ ...sent, body: { ...whole, extra: 1 } })),
        ),
      ).toEqual([]);
      const hostile = (whole: object): string =>
        JSON.stringify(whole).replace(
          '{',
          Object.keys(whole).length > 0 ? '{"__proto__":{},' : '{"__proto__":{}',
        );
      expect(
        await shop.others(
          'invalid-body',
          ...bodies.map(({ sent, whole }) => ({ ...sent, body: hostile(whole) })),
        ),
      ).toEqual([]);
    });

    test('of another media type', async () => {
      const headers = { 'content-type': 'text/plain' };
      expect(
        await shop.others(
          'unsupported-media-type',
          ...bodies.map(({ sent, whole }) => ({ ...sent, headers, body: JSON.stringify(whole) })),
        ),
      ).toEqual([]);
    });

    test('of more than 1 MiB', async () => {
      expect(
        await shop.others(
          'body-too-large',
          ...bodies.map(({ sent }) => ({ ...sent, body: Buffer.alloc(1_100_000, ' ') })),
        ),
      ).toEqual([]);
    });
  });

  test.each(['a b', '', 'x'.repeat(129), '..', '"a'])('the Idempotency-Key %j', async (key) => {
    const taking = bodies.filter(({ takesKey }) => takesKey);
    expect(
      await shop.others(
        'invalid-idempotency-key',
        ...taking.map(({ sent, whole }) => ({ ...sent, headers: { 'idempotency-key': key }, body: whole })),
      ),
    ).toEqual([]);
  });

  test.each(HOSTILE)('the name %j in each path', async (name) => {
    const coded = encodeURIComponent(name).replaceAll('.', '%2e');
    const named = operations.filter(([, path]) =>
      /^\/v1\/(?:contacts|address-books|file-channels|files|mailboxes|chats|members)\//.test(path),
    );
    expect(
      await shop.others(
        'invalid-id',
        ...named.flatMap(([method, path, { parameters = [], requestBody }]) => {
          const query = parameters.filter((each) => each.in === 'query' && each.required);
          const search = new URLSearchParams(
            query.map((each): [string, string] => [each.name, VALUES[each.name]!]),
          );
          const ids = parameters.filter(
            (each) => each.in === 'path' && !/^(?:contact|messageId)$/.test(each.name),
          );
          const isUpload = requestBody !== undefined && !('application/json' in requestBody.content);
          const { body } = WRITES[`${method} ${path.replace('/v1', '')}`] ?? {};
          return ids.map((wrong) => ({
            method,
            path: `${path.replaceAll(/\{(\w+)\}/g, (_, id: string) => {
              const value = id === wrong.name ? coded : (VALUES[id] ?? 'x');
              return path.startsWith('/v1/files/') ? `${value}:1` : value;
            })}?${search.toString()}`,
            ...(requestBody && { body: isUpload ? 'text' : (body as object) }),
            ...(isUpload && { headers: { 'content-type': 'application/octet-stream' } }),
          }));
        }),
      ),
    ).toEqual([]);
  });
}
