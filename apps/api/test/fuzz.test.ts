/**
 * Requests made from the OpenAPI document, with values that nobody expects: no answer is a failure of the server, and each has a status
 * that the document names. MORTISE_FUZZ_ROUNDS makes more of them, MORTISE_FUZZ_SEED others; a failure names the seed of its request.
 */
import { describe, expect, test } from '@jest/globals';
import { connect } from '@mortise/test-kit';

import type { Answer, Sent } from './fixture/api.js';
import { startApi } from './fixture/api.js';
import { keysOf } from './fixture/redis.js';
import { SocketClient } from './fixture/streams.js';
import { undeclaredHeaders } from './fixture/undeclared-headers.js';

const ROUNDS = Number(process.env['MORTISE_FUZZ_ROUNDS'] ?? 4);
const SEED = Number(process.env['MORTISE_FUZZ_SEED'] ?? 1);

const redis = connect();
const ADMIN = 'mk_admin_0123456789012345678901';
const api = await startApi({ AUTH: 'keys', ADMIN_KEY: ADMIN, CACHE_TABLES: 'stock' });
const bearer = (key: string): Record<string, string> => ({ authorization: `Bearer ${key}` });

type Schema = Record<string, unknown>;
interface Operation {
  readonly parameters?: readonly { readonly name: string; readonly in: string; readonly schema?: Schema }[];
  readonly requestBody?: { readonly content: Record<string, { readonly schema: Schema }> };
  readonly responses: Record<string, unknown>;
}
const { json: document } = await api.send({ path: '/openapi.json' });
const operations = Object.entries<Record<string, Operation>>(document.paths).flatMap(([path, item]) =>
  Object.entries(item).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
);

/** mulberry32: small, and the same everywhere. */
class Chance {
  #state: number;

  constructor(seed: number) {
    this.#state = seed;
  }

  next(): number {
    this.#state = (this.#state + 0x6d_2b_79_f5) | 0;
    let bits = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    bits = (bits + Math.imul(bits ^ (bits >>> 7), 61 | bits)) ^ bits;
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32;
  }

  of<T>(values: readonly T[]): T {
    return values[Math.floor(this.next() * values.length)]!;
  }

  is(share: number): boolean {
    return this.next() < share;
  }
}

const TEXTS = [
  '',
  ' ',
  'a',
  'x'.repeat(2_000),
  '{a}',
  '}{',
  '%',
  '*',
  '?[a-z]',
  '\u0000',
  '\r\nx: y',
  '..',
  '💥',
  '\uFEFFa',
  'ﬀ',
  "' OR 1=1 --",
  '<img src=x onerror=alert(1)>',
  '${1}',
  '__proto__',
  'constructor',
  '-1',
  '1e309',
  '9007199254740993',
  'null',
  'mk_admin_x',
];
const VALUES: readonly unknown[] = [
  ...TEXTS,
  null,
  true,
  0,
  -0,
  -1,
  0.5,
  2 ** 53,
  -(2 ** 53),
  1e300,
  [],
  {},
  [[]],
  [null],
  { a: { a: { a: {} } } },
  { toString: 1 },
  { length: -1 },
];

const refOf = (schema: Schema): Schema => {
  const { $ref = '' } = schema as { $ref?: string };
  const name = $ref.split('/').at(-1)!;
  return name === '' ? schema : (document.components.schemas[name] as Schema);
};

/** A body: an example with some of its members exchanged, left out or added. */
function bodyOf(schema: Schema, chance: Chance): unknown {
  const { example, examples } = refOf(schema) as { example?: object; examples?: object[] };
  const sample = structuredClone(example ?? examples?.[0] ?? {}) as Record<string, unknown>;
  if (chance.is(0.1)) return chance.of(VALUES);
  const { properties = {} } = refOf(schema) as { properties?: object };
  for (const name of Object.keys(properties)) if (chance.is(0.4)) sample[name] = chance.of(VALUES);
  for (const name of Object.keys(sample)) if (chance.is(0.1)) delete sample[name];
  if (chance.is(0.1)) sample[chance.of(TEXTS)] = chance.of(VALUES);
  return sample;
}

function requestOf({ method, path, operation }: (typeof operations)[number], chance: Chance): Sent {
  const { parameters = [], requestBody } = operation;
  const address = path.replaceAll(/\{\w+\}/g, () =>
    encodeURIComponent(chance.is(0.5) ? 'a' : chance.of(TEXTS)),
  );
  const query = parameters
    .filter((parameter) => parameter.in === 'query' && chance.is(0.5))
    .map(({ name }) => `${name}=${encodeURIComponent(chance.is(0.4) ? 'a' : chance.of(TEXTS))}`);
  if (chance.is(0.1)) query.push(`${encodeURIComponent(chance.of(TEXTS))}=1`);
  const schema = requestBody?.content['application/json']?.schema;
  const headers: Record<string, string> = {};
  if (chance.is(0.2)) headers['idempotency-key'] = chance.of(['a', '', 'x'.repeat(200), '"q"', 'ü']);
  if (chance.is(0.2)) headers['if-match'] = chance.of(['*', '"a"', 'a', '']);
  if (requestBody && !schema) headers['content-type'] = 'application/octet-stream';
  return {
    method,
    path: address + (query.length > 0 ? `?${query.join('&')}` : ''),
    headers,
    ...(schema && { body: JSON.stringify(bodyOf(schema, chance)) ?? 'null' }),
    ...(requestBody && !schema && { body: Buffer.from(chance.of(TEXTS)) }),
  };
}

/** Waits would make the test slow, and streams never end. */
const isQuick = ({ path }: (typeof operations)[number]): boolean => !/\/events$|\/ws$/.test(path);
const withoutWaits = (sent: Sent): Sent => ({
  ...sent,
  path: sent.path.replaceAll(/waitMs=[^&]*/g, 'waitMs=0'),
  ...(typeof sent.body === 'string' && { body: sent.body.replaceAll(/"waitMs":\d+/g, '"waitMs":0') }),
});

async function oddAnswers(
  headers: Record<string, string>,
  isExpected: (answer: Answer) => boolean,
): Promise<unknown[]> {
  const odd: unknown[] = [];
  for (const [index, operation] of operations.filter(isQuick).entries()) {
    for (let round = 0; round < ROUNDS; round += 1) {
      const seed = SEED + index * 10_007 + round;
      const sent = withoutWaits(requestOf(operation, new Chance(seed)));
      const answer = await api.send({ ...sent, headers: { ...sent.headers, ...headers } });
      const { responses } = operation.operation;
      const isDeclared =
        String(answer.status) in responses && undeclaredHeaders(operation.operation, answer).length === 0;
      // The server itself answers to an address that it cannot read, before it has a route.
      const slug = String(answer.json?.type).split('/').at(-1);
      const isOfServer = [
        'malformed-url',
        'malformed-request',
        'unknown-route',
        'method-not-allowed',
      ].includes(slug!);
      if (!isExpected(answer) || !(isDeclared || isOfServer))
        odd.push([
          `seed ${seed}`,
          operation.method,
          sent.path.slice(0, 200),
          JSON.stringify(sent.body)?.slice(0, 200),
          answer.status,
          answer.text.slice(0, 300),
        ]);
    }
  }
  return odd;
}

describe('requests of all operations with hostile values', () => {
  // A row whose table no worker loads is 503 `not-loaded`, and says so.
  const isSound = ({ status, json }: Answer): boolean =>
    status < 500 || /not-loaded|source-failed$/.test(String(json?.type));

  test('with a credential get no failure of the server, and a status that is declared', async () => {
    expect(operations.length).toBeGreaterThan(110);
    expect(await oddAnswers(bearer(ADMIN), isSound)).toEqual([]);
  });

  test('without one get 401, and change nothing', async () => {
    const before = await keysOf(redis, api.prefix);
    const isRefused = ({ status, json }: Answer): boolean =>
      [200, 302, 400, 401, 404, 405].includes(status) && (status !== 200 || json?.items === undefined);
    expect(await oddAnswers({}, isRefused)).toEqual([]);
    const after = await keysOf(redis, api.prefix);
    // The leases of the requests before end by themselves.
    const lasting = (key: string): boolean => !/:locks:|:lease:/.test(key);
    expect(after.filter((key) => !before.includes(key))).toEqual([]);
    expect(after.filter(lasting)).toEqual(before.filter(lasting));
  });

  test('with a credential of a tenant reach no key of another one', async () => {
    await api.send({ method: 'PUT', path: '/v1/admin/tenants/acme', headers: bearer(ADMIN), body: {} });
    const { json } = await api.send({
      method: 'PUT',
      path: '/v1/admin/keys/acme',
      headers: bearer(ADMIN),
      body: {
        tenant: 'acme',
        scopes: [
          'locks:write',
          'queues:write',
          'queues:consume',
          'queues:admin',
          'messaging:write',
          'autocomplete:write',
        ],
      },
    });
    const ofOthers = async (): Promise<string[]> =>
      (await keysOf(redis, api.prefix)).filter((key) => !key.includes(':callers:'));
    const before = await ofOthers();
    expect(await oddAnswers(bearer(json.key as string), isSound)).toEqual([]);
    const added = (await ofOthers()).filter((key) => !before.includes(key));
    expect(added).toEqual([]);
    expect((await keysOf(redis, `${api.prefix}.t.acme`)).length).toBeGreaterThan(0);
  });
});

const TOPICS = [
  'market',
  'market:',
  'queue:nowhere',
  'queue:%',
  'member:a',
  'mailbox:a',
  'cache:a',
  'cache:\u0000',
  'overview',
  'overview:a',
  'redis',
  'redis:',
  'lock',
  'lock:a',
  'lock:%ff',
];

test('hostile frames of a WebSocket get errors below 500', async () => {
  const chance = new Chance(SEED);
  const names = [
    'subscribe',
    'post',
    'ack',
    'typing',
    'ref',
    'after',
    'chatId',
    'body',
    'id',
    'upToId',
    'epoch',
    'follow',
    'unfollow',
    'includeMuted',
  ];
  for (let round = 0; round < 25 * ROUNDS; round += 1) {
    const socket = await SocketClient.open(api.url, bearer(ADMIN));
    await socket.ask({ subscribe: 'a' });
    const inner = Object.fromEntries(
      names
        .filter(() => chance.is(0.3))
        .map((name) => [name, chance.of(/follow/.test(name) && chance.is(0.7) ? TOPICS : VALUES)]),
    );
    const topic = { follow: chance.of(TOPICS), after: chance.of(VALUES) };
    const frame = chance.of<object>([inner, { [chance.of(names)]: inner, ref: 'mine' }, topic]);
    socket.say(JSON.stringify(frame));
    const closed = socket.ask({ typing: 'nowhere' }).catch(() => undefined);
    await Promise.race([closed, new Promise((resolve) => void socket.socket.once('close', resolve))]);
    const failures = socket.frames.filter(({ error }) => error?.status >= 500);
    expect([`seed ${SEED} round ${round}`, frame, failures]).toEqual([
      `seed ${SEED} round ${round}`,
      frame,
      [],
    ]);
    socket.socket.terminate();
  }
});
