/** Tokens of an issuer, sessions of browsers, the audit log, and the end of streams whose credential has ended. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { connect, until } from '@mortise/test-kit';
import { exportJWK, exportSPKI, generateKeyPair, SignJWT } from 'jose';
import type { CryptoKey, JWK } from 'jose';

import type { Answer, Api, Sent } from '../fixture/api.js';
import { startApi } from '../fixture/api.js';
import { keysOf } from '../fixture/redis.js';
import { EventReader, SocketClient } from '../fixture/streams.js';

const redis = connect();
const ADMIN = 'mk_admin_0123456789012345678901';
const ISSUER = 'https://login.example.com';

/** The published keys; undefined: the issuer fails. */
let published: JWK[] | undefined = [];
let fetches = 0;
const issuer = createServer((_request, response) => {
  fetches += 1;
  if (published)
    response.setHeader('content-type', 'application/json').end(JSON.stringify({ keys: published }));
  else response.writeHead(500).end();
});
await new Promise<void>((resolve) => void issuer.listen(0, '127.0.0.1', resolve));
afterAll(() => void issuer.close());

const env = {
  AUTH: 'keys',
  ADMIN_KEY: ADMIN,
  JWT_JWKS_URL: `http://127.0.0.1:${(issuer.address() as AddressInfo).port}/keys`,
  JWT_ISSUER: ISSUER,
  JWT_AUDIENCE: 'mortise',
};
const api = await startApi(env);
const other = await startApi({ ...env, MORTISE_PREFIX: api.prefix, NODE_ENV: 'production' });

const bearer = (key: string): Record<string, string> => ({ authorization: `Bearer ${key}` });
const slugOf = ({ json }: Answer): string => String(json?.type).split('/').at(-1)!;
const ask = (
  headers: Record<string, string>,
  target: string,
  body?: Sent['body'],
  by: Pick<Api, 'send'> = api,
): Promise<Answer> => {
  const [method, path] = target.split(' ') as [string, string];
  return by.send({ method, path, headers, ...(body && { body }) });
};
const asAdmin = (target: string, body?: Sent['body']): Promise<Answer> => ask(bearer(ADMIN), target, body);

async function createKey(id: string, scopes: readonly string[], terms: object = {}): Promise<string> {
  const { status, json } = await asAdmin(`PUT /v1/admin/keys/${id}`, { scopes, ...terms });
  expect(status).toBe(201);
  return json.key as string;
}

interface Signer {
  readonly kid: string;
  readonly privateKey: CryptoKey;
  readonly publicKey: CryptoKey;
  readonly jwk: JWK;
}

async function signerOf(kid: string, alg = 'RS256'): Promise<Signer> {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
  return { kid, privateKey, publicKey, jwk: { ...(await exportJWK(publicKey)), kid, alg, use: 'sig' } };
}

const CLAIMS = { sub: 'bill', scope: 'messaging:read messaging:write unheard:of' };
const inAnHour = (): number => Math.floor(Date.now() / 1_000) + 3_600;

function tokenOf(
  { kid, privateKey, jwk }: Signer,
  claims: Record<string, unknown> = {},
  header: Record<string, unknown> = {},
): Promise<string> {
  const payload = { iss: ISSUER, aud: 'mortise', exp: inAnHour(), ...CLAIMS, ...claims };
  const given = Object.entries(payload).filter(([, value]) => value !== undefined);
  return new SignJWT(Object.fromEntries(given))
    .setProtectedHeader({ alg: jwk.alg!, kid, ...header })
    .sign(privateKey);
}

/** The parts of a token, made by hand. */
const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');

describe('a token', () => {
  let rsa: Signer;
  let ec: Signer;

  beforeAll(async () => {
    [rsa, ec] = await Promise.all([signerOf('rsa'), signerOf('ec', 'ES256')]);
  });

  test('is refused with 503 while the issuer gives no keys', async () => {
    published = undefined;
    const answer = await ask(bearer(await tokenOf(rsa)), 'GET /v1/session');
    expect([answer.status, slugOf(answer), answer.headers['retry-after']]).toEqual([
      503,
      'key-set-unavailable',
      '1',
    ]);
    published = [rsa.jwk, ec.jwk];
  });

  test('has the subject, the scopes and the tenant of its claims', async () => {
    for (const signer of [rsa, ec]) {
      const { status, json } = await ask(bearer(await tokenOf(signer)), 'GET /v1/session');
      expect([status, json]).toEqual([
        200,
        {
          keyId: null,
          tenant: 'default',
          subject: 'bill',
          scopes: ['messaging:read', 'messaging:write'],
          console: 'off',
        },
      ]);
    }
    await asAdmin('PUT /v1/admin/tenants/acme', {});
    const ofAcme = bearer(await tokenOf(rsa, { tenant: 'acme' }));
    expect((await ask(ofAcme, 'GET /v1/session')).json.tenant).toBe('acme');
    const { status } = await ask(ofAcme, 'POST /v1/mailboxes/ann/messages', { from: 'bill', body: 1 });
    expect(status).toBe(201);
    expect(await keysOf(redis, `${api.prefix}.t.acme`)).not.toEqual([]);
  });

  test('acts for its subject alone, by its scopes alone', async () => {
    const headers = bearer(await tokenOf(rsa));
    const asBill = await ask(headers, 'POST /v1/mailboxes/ann/messages', { from: 'ann', body: 1 });
    expect([asBill.status, slugOf(asBill)]).toEqual([403, 'subject-mismatch']);
    expect((await ask(headers, 'GET /v1/queues')).json.scope).toBe('queues:read');
  });

  test.each<[string, Record<string, unknown>]>([
    ['that has expired', { exp: Math.floor(Date.now() / 1_000) - 60 }],
    ['without an end', { exp: undefined }],
    ['of the future', { nbf: inAnHour() }],
    ['of another issuer', { iss: 'https://evil.example.com' }],
    ['for another service', { aud: 'elsewhere' }],
    ['without a subject', { sub: undefined }],
    ['of an empty subject', { sub: '' }],
    ['of a subject that is longer than names are', { sub: 'x'.repeat(256) }],
    ['of a subject with half a character', { sub: '\uD800' }],
    ['of an unknown tenant', { tenant: 'nowhere' }],
    ['of a tenant that is none', { tenant: 'acme:x' }],
    ['of a tenant that is no text', { tenant: ['acme'] }],
    ['of scopes that are no text', { scope: ['messaging:read'] }],
  ])('%s is refused', async (_, claims) => {
    const answer = await ask(bearer(await tokenOf(rsa, claims)), 'GET /v1/session');
    expect([answer.status, slugOf(answer)]).toEqual([401, 'unauthenticated']);
  });

  test('with a forged signature is refused', async () => {
    const payload = part({ iss: ISSUER, aud: 'mortise', exp: inAnHour(), ...CLAIMS });
    const spki = await exportSPKI(rsa.publicKey);
    const byPublicKey = new SignJWT({ iss: ISSUER, aud: 'mortise', exp: inAnHour(), ...CLAIMS })
      .setProtectedHeader({ alg: 'HS256', kid: 'rsa' })
      .sign(new TextEncoder().encode(spki));
    const good = await tokenOf(rsa);
    const [head, , signature] = good.split('.') as [string, string, string];
    const unknown = await signerOf('unknown');
    const forged = [
      `${part({ alg: 'none' })}.${payload}.`,
      `${part({ alg: 'none', kid: 'rsa' })}.${payload}.${signature}`,
      await byPublicKey,
      `${head}.${part({ ...CLAIMS, iss: ISSUER, aud: 'mortise', exp: inAnHour(), sub: 'admin' })}.${signature}`,
      await tokenOf(unknown),
      // The key of another one under a published id, and the key of a header.
      await tokenOf({ ...unknown, kid: 'rsa' }),
      await tokenOf(unknown, {}, { jwk: unknown.jwk }),
      'a.b.c',
      good.slice(0, -4),
    ];
    for (const [index, token] of forged.entries()) {
      const answer = await ask(bearer(token), 'GET /v1/session');
      expect([index, answer.status, slugOf(answer)]).toEqual([index, 401, 'unauthenticated']);
    }
  });

  test('does not make the issuer answer for each made-up key', async () => {
    const before = fetches;
    for (let i = 0; i < 5; i += 1) {
      const unknown = { ...rsa, kid: `made-up-${i}` };
      expect((await ask(bearer(await tokenOf(unknown)), 'GET /v1/session')).status).toBe(401);
    }
    expect(fetches - before).toBeLessThan(2);
  });

  test('of a key that the issuer has since then is taken', async () => {
    const added = await signerOf('added', 'EdDSA');
    published = [rsa.jwk, ec.jwk, { ...added.jwk, alg: 'EdDSA' }];
    const headers = bearer(await tokenOf(added));
    await until('the new key', async () => (await ask(headers, 'GET /v1/session')).status === 200);
    expect((await ask(headers, 'GET /v1/session')).json.subject).toBe('bill');
  });

  test('is none without JWT_JWKS_URL', async () => {
    const without = await startApi({ AUTH: 'keys', ADMIN_KEY: ADMIN });
    expect((await ask(bearer(await tokenOf(rsa)), 'GET /v1/session', undefined, without)).status).toBe(401);
    await without.close();
  });

  test('opens a session, which ends with it', async () => {
    const exp = Math.floor(Date.now() / 1_000) - 2;
    const [lasting, ending] = await Promise.all([tokenOf(rsa), tokenOf(rsa, { exp })]);
    const sessions = await Promise.all([lasting, ending].map((token) => openSession(bearer(token))));
    // The last one is valid for as long as clocks may differ.
    expect((await ask(own(sessions[0]!), 'GET /v1/session')).json.subject).toBe('bill');
    await until(
      'the end of the token',
      async () => (await ask(own(sessions[1]!), 'GET /v1/session')).status === 401,
    );
    expect((await ask(own(sessions[0]!), 'GET /v1/session')).status).toBe(200);
  });
});

/** The cookie of a new session. */
async function openSession(headers: Record<string, string>, by: Api = api): Promise<string> {
  const { status, headers: given } = await ask(headers, 'POST /v1/session', undefined, by);
  expect([status, given['cache-control']]).toEqual([200, 'no-store']);
  const [cookie = ''] = given['set-cookie'] ?? [];
  return cookie.split(';')[0]!;
}

/** The headers of a page of this server. */
const own = (cookie: string): Record<string, string> => ({ cookie, 'sec-fetch-site': 'same-origin' });

describe('a session', () => {
  test('is opened by a credential, and its cookie is for this server alone', async () => {
    const key = await createKey('browser', ['queues:read', 'queues:admin']);
    const { json, headers } = await ask(bearer(key), 'POST /v1/session');
    expect(json).toEqual({
      keyId: 'browser',
      tenant: 'default',
      subject: null,
      scopes: ['queues:read', 'queues:admin'],
      console: 'off',
    });
    const [cookie = ''] = headers['set-cookie'] ?? [];
    expect(cookie).toMatch(/^mortise_session=[\w-]{43}; Max-Age=43200; Path=\/; HttpOnly; SameSite=Strict$/);
    const [secure = ''] = (await ask(bearer(key), 'POST /v1/session', undefined, other)).headers[
      'set-cookie'
    ]!;
    expect(secure).toMatch(/; Secure$/);
    const stored = JSON.stringify(
      await Promise.all((await keysOf(redis, `${api.prefix}:callers`)).map((each) => redis.dump(each))),
    );
    expect(stored).not.toContain(cookie.slice('mortise_session='.length, 40));
    for (const each of [api, other])
      expect((await ask(own(cookie.split(';')[0]!), 'GET /v1/queues', undefined, each)).status).toBe(200);
  });

  test('opens no other session, which would outlive its time and its sign-out', async () => {
    const cookie = await openSession(bearer(ADMIN));
    const { status, json, headers } = await ask(own(cookie), 'POST /v1/session');
    expect([status, json.keyId, headers['set-cookie']]).toEqual([200, 'admin', undefined]);
  });

  test('counts for own pages alone', async () => {
    const cookie = await openSession(bearer(ADMIN));
    const { host } = new URL(api.url);
    for (const [headers, expected] of [
      [{ 'sec-fetch-site': 'same-origin' }, 204],
      // A browser without Sec-Fetch-Site.
      [{ origin: `http://${host}`, host }, 204],
      [{}, 403],
      [{ 'sec-fetch-site': 'none' }, 403],
      [{ 'sec-fetch-site': 'same-site' }, 403],
      [{ 'sec-fetch-site': 'cross-site' }, 403],
      [{ origin: 'https://evil.example.com' }, 403],
    ] as [Record<string, string>, number][]) {
      const answer = await ask({ ...headers, cookie }, 'POST /v1/queues/mail/pause');
      const slug = expected === 403 ? 'foreign-origin' : 'undefined';
      expect([headers, answer.status, slugOf(answer)]).toEqual([headers, expected, slug]);
    }
    await asAdmin('POST /v1/queues/mail/resume');
    // A page names its origin when it reads from another server. A page of this server names none.
    for (const headers of [{ origin: 'https://evil.example.com' }, { origin: `http://${host}`, host }]) {
      expect(slugOf(await ask({ ...headers, cookie }, 'GET /v1/queues'))).toBe('foreign-origin');
    }
  });

  test('of another page opens no WebSocket', async () => {
    const cookie = await openSession(bearer(ADMIN));
    await expect(SocketClient.open(api.url, { cookie })).rejects.toThrow('403 foreign-origin');
    await expect(SocketClient.open(api.url, { cookie, origin: 'https://evil.example.com' })).rejects.toThrow(
      '403 foreign-origin',
    );
    const { origin } = new URL(api.url);
    const socket = await SocketClient.open(api.url, { cookie, origin });
    expect(await socket.ask({ subscribe: 'bill' })).toEqual({ subscribed: 'bill' });
    socket.socket.close();
  });

  test('does not stand in for a wrong header', async () => {
    const cookie = await openSession(bearer(ADMIN));
    const answer = await ask({ ...own(cookie), authorization: 'Bearer hunter2' }, 'GET /v1/queues');
    expect(answer.status).toBe(401);
  });

  test.each([
    'mortise_session=',
    `mortise_session=${'x'.repeat(43)}`,
    `a=mortise_session=${'x'.repeat(43)}`,
    'mortise_session',
  ])('of the cookie "%s" is none', async (cookie) => {
    expect((await ask(own(cookie), 'GET /v1/session')).status).toBe(401);
  });

  test('ends by DELETE, on every process', async () => {
    const cookie = await openSession(bearer(ADMIN));
    expect((await ask(own(cookie), 'GET /v1/session', undefined, other)).status).toBe(200);
    const { status, headers } = await ask(own(cookie), 'DELETE /v1/session');
    expect([status, headers['set-cookie']]).toEqual([
      204,
      ['mortise_session=; Max-Age=0; Path=/; HttpOnly; SameSite=Strict'],
    ]);
    for (const each of [api, other])
      expect((await ask(own(cookie), 'GET /v1/session', undefined, each)).status).toBe(401);
  });

  test('ends with the key that opened it, and with its secret', async () => {
    const first = await createKey('ending', ['queues:read']);
    const session = await openSession(bearer(first));
    const { json } = await asAdmin('POST /v1/admin/keys/ending/rotate', { overlapMs: 0 });
    const rotated = await openSession(bearer(json.key as string));
    await until('its end', async () => (await ask(own(session), 'GET /v1/session')).status === 401);
    expect((await ask(own(rotated), 'GET /v1/session')).status).toBe(200);
    await asAdmin('DELETE /v1/admin/keys/ending');
    expect((await ask(own(rotated), 'GET /v1/session')).status).toBe(401);
  });
});

describe('the audit log', () => {
  test('has what operators changed, the newest first, also what was refused', async () => {
    const key = await createKey('audited', ['queues:admin'], { subject: 'olga' });
    await ask(bearer(key), 'PUT /v1/queues/audited?x=secret-in-a-query', { concurrency: 1 });
    await ask(bearer(key), 'POST /v1/queues/nowhere/pause');
    await ask(bearer(key), 'DELETE /v1/admin/keys/audited');
    await ask(bearer(key), 'POST /v1/session');
    // None of these is in it.
    await ask(bearer(key), 'GET /v1/queues/audited');
    await ask({}, 'POST /v1/queues/audited/pause');
    await asAdmin('POST /v1/queues/audited/tasks', { name: 'a', payload: 1 });
    const { json } = await asAdmin('GET /v1/admin/audit?limit=5');
    const by = { keyId: 'audited', tenant: 'default', subject: 'olga' };
    const entry = (method: string, path: string, status: number, who: object = by): object => ({
      at: expect.any(Number),
      ...who,
      method,
      path,
      status,
      requestId: expect.stringMatching(/./),
    });
    expect(json.items).toEqual([
      entry('POST', '/v1/session', 200),
      entry('DELETE', '/v1/admin/keys/audited', 403),
      entry('POST', '/v1/queues/nowhere/pause', 404),
      entry('PUT', '/v1/queues/audited', 400),
      entry('PUT', '/v1/admin/keys/audited', 201, { keyId: 'admin', tenant: 'default', subject: null }),
    ]);
    const next = await asAdmin(`GET /v1/admin/audit?limit=1&cursor=${json.nextCursor}`);
    expect(next.json.items).toHaveLength(1);
    expect(next.json.items[0].at).toBeLessThanOrEqual(json.items[4].at);
    expect(slugOf(await asAdmin('GET /v1/admin/audit?cursor=x'))).toBe('invalid-cursor');
    const stored = JSON.stringify(await redis.xrange(`${api.prefix}:callers:{audit}:entries`, '-', '+'));
    expect(stored).not.toContain('secret');
    expect(stored).not.toContain(key.split('_').slice(2).join('_'));
  });
});

test('open streams end soon after their key is revoked or loses its scope; others stay', async () => {
  const keys: Record<string, string> = {};
  for (const id of ['revoked', 'narrowed', 'lasting'])
    keys[id] = await createKey(`stream-${id}`, ['messaging:read', 'messaging:write']);
  const session = await openSession(bearer(keys['revoked']!), other);
  const open = async (headers: Record<string, string>): Promise<[EventReader, SocketClient]> => {
    const events = await EventReader.open(other.url, '/v1/members/bill/events', headers);
    const socket = await SocketClient.open(other.url, headers);
    await socket.ask({ subscribe: 'bill' });
    return [events, socket];
  };
  const { origin } = new URL(other.url);
  const [revoked, narrowed, lasting, ofSession] = [
    await open(bearer(keys['revoked']!)),
    await open(bearer(keys['narrowed']!)),
    await open(bearer(keys['lasting']!)),
    await open({ ...own(session), origin }),
  ];
  await asAdmin('DELETE /v1/admin/keys/stream-revoked');
  await asAdmin('PUT /v1/admin/keys/stream-narrowed', { scopes: ['queues:read'] });
  for (const [events, socket] of [revoked, narrowed, ofSession]) {
    await events.end();
    expect(events.events.at(-1)).toEqual({ id: undefined, event: 'dropped', data: { reason: 'revoked' } });
    await until('the close', async () => socket.closed !== undefined);
    expect(socket.closed).toEqual({ code: 1008, reason: 'the credential is no longer valid' });
  }
  const [events, socket] = lasting;
  expect([events.isEnded, socket.closed]).toEqual([false, undefined]);
  events.close();
  socket.socket.close();
});
