/** Locks over HTTP, as a program in any language has them. */
import { once } from 'node:events';
import * as http from 'node:http';
import type { ClientRequest } from 'node:http';
import { connect as open } from 'node:net';

import { describe, expect, test } from '@jest/globals';
import { Mutex } from '@mortise/locks';
import { until } from '@mortise/test-kit';

import { RemoteLeases } from '../../src/locks/remote-leases.js';
import { RemoteLocks } from '../../src/locks/remote-locks.js';
import type { Answer } from '../fixture/api.js';
import { startApi } from '../fixture/api.js';
import { inTenant } from '../../src/tenants/tenancy.js';
import { api, elsewhere, Leases, prefix, problem, redis } from './leases.js';

const locks = new Leases('lock');

test('the owner of each kind of lease is shown, and its holder renews and releases it', async () => {
  const [name, owner] = [locks.freshName(), 'mailer-3'];
  const kinds = {
    locks: { body: {}, shown: { owner } },
    semaphores: { body: { permits: 1 }, shown: { holders: [{ owner }] } },
    'read-write-locks': { body: { mode: 'write' }, shown: { writer: expect.stringContaining(`~${owner}.`) } },
  };
  for (const [kind, { body, shown }] of Object.entries(kinds)) {
    const post = (action: string, its: object): Promise<Answer> =>
      api.send({ method: 'POST', path: `/v1/${kind}/${name}/${action}`, body: its });
    expect((await post('acquire', { ...body, owner: 'a.b' })).status).toBe(400);
    const { holder } = (await post('acquire', { ...body, owner })).json;
    expect([kind, (await api.send({ path: `/v1/${kind}/${name}` })).json]).toMatchObject([kind, shown]);
    expect((await post('renew', { holder })).status).toBe(200);
    expect((await post('release', { holder })).status).toBe(200);
  }
  const body = { names: [name, `${name}-2`], owner };
  await api.send({ method: 'POST', path: '/v1/multi-locks/acquire', body });
  expect((await locks.look(`${name}-2`)).owner).toBe(owner);
});

describe('a lock', () => {
  test('is taken at one process, and renewed and released at another', async () => {
    const name = locks.freshName();
    expect(await locks.look(name)).toEqual({
      name,
      holder: null,
      owner: null,
      fencingToken: null,
      remainingMs: 0,
      queueLength: 0,
      longestWaitMs: 0,
    });
    const lease = await locks.take(name);
    expect(lease).toEqual({
      name,
      holder: expect.any(String),
      fencingToken: expect.any(Number),
      expiresInMs: expect.any(Number),
    });
    expect(lease.expiresInMs).toBeGreaterThan(50_000);
    const { holder, fencingToken } = lease;
    expect(await locks.look(name)).toMatchObject({ holder, fencingToken, queueLength: 0 });

    const renewed = await locks.post(`${name}/renew`, { holder, leaseMs: 120_000 }, {}, elsewhere);
    expect([renewed.status, renewed.json.expiresInMs > 110_000]).toEqual([200, true]);
    expect((await locks.look(name)).remainingMs).toBeGreaterThan(110_000);
    const shorter = await locks.post(`${name}/renew`, { holder, leaseMs: 1_000 });
    expect([shorter.status, shorter.json.expiresInMs <= 1_000]).toEqual([200, true]);
    expect((await locks.look(name)).remainingMs).toBeGreaterThan(100_000);

    const released = await locks.post(`${name}/release`, { holder }, {}, elsewhere);
    expect([released.status, released.json]).toEqual([200, { isReleased: true }]);
    expect(await locks.look(name)).toMatchObject({ holder: null, fencingToken });
    expect((await locks.take(name)).fencingToken).toBeGreaterThan(fencingToken);
  });

  test('that is held is refused, with what is known of it', async () => {
    const name = locks.freshName();
    await locks.take(name);
    for (const body of [{}, { waitMs: 30 }]) {
      const { status, json } = await locks.post(`${name}/acquire`, body);
      expect([status, json]).toEqual([
        409,
        expect.objectContaining({
          type: problem('lock-timeout'),
          lockName: name,
          waitMs: 'waitMs' in body ? 30 : 0,
          remainingMs: expect.any(Number),
        }),
      ]);
      expect(json.remainingMs).toBeGreaterThan(50_000);
    }
  });

  test('is waited for longer than other requests may take', async () => {
    const name = locks.freshName();
    await locks.take(name);
    const startedAt = performance.now();
    const { status, json } = await locks.post(`${name}/acquire`, { waitMs: 1_200 });
    expect([status, json.type]).toEqual([409, problem('lock-timeout')]);
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(1_190);
  });

  test('goes to those who wait in their order, each with a whole lease', async () => {
    const name = locks.freshName();
    const first = await locks.take(name);
    const waiting: Promise<Answer>[] = [];
    for (const at of [api, elsewhere, api]) {
      waiting.push(locks.post(`${name}/acquire`, { leaseMs: 60_000, waitMs: 30_000 }, {}, at));
      await locks.untilQueued(name, waiting.length);
    }
    let { holder } = first;
    let last = first.fencingToken;
    for (const waiter of waiting) {
      await locks.post(`${name}/release`, { holder });
      const { status, json } = await waiter;
      expect(status).toBe(201);
      expect(json.fencingToken).toBeGreaterThan(last);
      expect(json.expiresInMs).toBeGreaterThan(50_000);
      // Not only promised: a waiter's lease begins with a claim of a second.
      expect((await locks.look(name)).remainingMs).toBeGreaterThan(50_000);
      ({ holder, fencingToken: last } = json);
    }
  });

  test('is the same that the package knows by this name', async () => {
    const name = locks.freshName();
    const mutex = new Mutex(redis, name, { prefix });
    const { holder } = await locks.take(name);
    expect(await mutex.tryAcquire()).toBeNull();
    const waiting = mutex.acquire();
    await locks.untilQueued(name, 1);
    await locks.post(`${name}/release`, { holder });
    const lease = await waiting;
    expect((await locks.post(`${name}/acquire`)).status).toBe(400);
    expect((await locks.post(`${name}/acquire`, {})).status).toBe(409);
    await lease.release();
    expect((await locks.post(`${name}/acquire`, {})).status).toBe(201);
  });

  test('is not renewed by the API: it expires, and its holder learns it', async () => {
    const name = locks.freshName();
    const { holder } = await locks.take(name, { leaseMs: 60 });
    await until('the end of the lease', async () => (await locks.look(name)).holder === null);
    for (const act of ['renew', 'release']) {
      const { status, json } = await locks.post(`${name}/${act}`, { holder });
      expect([status, json]).toEqual([
        409,
        expect.objectContaining({ type: problem('lease-lost'), lockName: name, holder }),
      ]);
    }
  });

  test('is neither renewed nor released by another holder, and answers a repeated release', async () => {
    const name = locks.freshName();
    const { holder } = await locks.take(name);
    const other = (await locks.take(locks.freshName())).holder;
    for (const act of ['renew', 'release']) {
      expect((await locks.post(`${name}/${act}`, { holder: other })).json.type).toBe(problem('lease-lost'));
    }
    expect((await locks.look(name)).holder).toBe(holder);
    const twice = await Promise.all([1, 2].map(() => locks.post(`${name}/release`, { holder })));
    expect(twice.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 200]);
    const next = await locks.take(name);
    // A repeated release does not release the next lease.
    expect((await locks.post(`${name}/release`, { holder })).json).toEqual({ isReleased: true });
    expect((await locks.look(name)).holder).toBe(next.holder);
  });

  test('an operator takes the lock away, and the first waiter gets it', async () => {
    const name = locks.freshName();
    expect((await locks.post(`${name}/force-release`)).json).toEqual({ isReleased: false });
    const { holder } = await locks.take(name);
    const waiting = locks.post(`${name}/acquire`, { waitMs: 30_000 });
    await locks.untilQueued(name, 1);
    expect((await locks.post(`${name}/force-release`)).json).toEqual({ isReleased: true });
    expect((await waiting).status).toBe(201);
    expect((await locks.post(`${name}/renew`, { holder })).json.type).toBe(problem('lease-lost'));
  });
});

describe('an Idempotency-Key', () => {
  const key = { 'idempotency-key': 'try-1' };

  test('leads to the same lease as long as that lasts, at every process', async () => {
    const name = locks.freshName();
    const body = { leaseMs: 60_000 };
    const first = await locks.post(`${name}/acquire`, body, key);
    const again = await locks.post(`${name}/acquire`, body, key, elsewhere);
    expect([first.status, again.status]).toEqual([201, 200]);
    const { expiresInMs: _, ...lease } = first.json;
    expect(again.json).toEqual({ ...lease, expiresInMs: expect.any(Number) });
    expect(again.json.expiresInMs).toBeGreaterThan(50_000);
    const other = await locks.post(`${name}/acquire`, { leaseMs: 59_999 }, key);
    expect([other.status, other.json.type]).toEqual([422, problem('request-reused')]);

    await locks.post(`${name}/release`, { holder: lease.holder });
    const next = await locks.post(`${name}/acquire`, { leaseMs: 59_999 }, key);
    expect([next.status, next.json.fencingToken > lease.fencingToken]).toEqual([201, true]);
  });

  test('says nothing of another lock, and is forgotten with the lease', async () => {
    const name = locks.freshName();
    expect((await locks.post(`${name}/acquire`, { leaseMs: 100 }, key)).status).toBe(201);
    expect((await locks.post(`${locks.freshName()}/acquire`, { leaseMs: 60_000 }, key)).status).toBe(201);
    const ofKey = `${prefix}:api:{lock:${name}}:request:try-1`;
    await until('the end of the key', async () => (await redis.exists(ofKey)) === 0);
    expect((await locks.post(`${name}/acquire`, {}, key)).status).toBe(201);
  });
});

describe('waiters', () => {
  function wait(name: string): ClientRequest {
    const outgoing = http.request(`${api.url}/v1/locks/${name}/acquire`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
    });
    outgoing.on('error', () => undefined);
    outgoing.end(JSON.stringify({ leaseMs: 60_000, waitMs: 30_000 }));
    return outgoing;
  }

  test('leaves the queue with its connection', async () => {
    const name = locks.freshName();
    const { holder } = await locks.take(name);
    const outgoing = wait(name);
    await locks.untilQueued(name, 1);
    outgoing.destroy();
    await locks.untilQueued(name, 0);
    await locks.post(`${name}/release`, { holder });
    expect(await locks.look(name)).toMatchObject({ holder: null });
  });

  test('and resets the connection, as well', async () => {
    const name = locks.freshName();
    await locks.take(name);
    const outgoing = wait(name);
    await locks.untilQueued(name, 1);
    (outgoing.socket as { resetAndDestroy(): void }).resetAndDestroy();
    await locks.untilQueued(name, 0);
    expect(outgoing.destroyed).toBe(true);
  });

  test('and ends its side is answered, without the lock', async () => {
    const name = locks.freshName();
    const { holder } = await locks.take(name);
    const { hostname, port } = new URL(api.url);
    const socket = open({ host: hostname, port: Number(port), allowHalfOpen: true });
    const body = JSON.stringify({ waitMs: 30_000 });
    const head = `POST /v1/locks/${name}/acquire HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n`;
    socket.write(`${head}content-length: ${body.length}\r\nconnection: close\r\n\r\n${body}`);
    await locks.untilQueued(name, 1);
    socket.end();
    const [chunk] = (await once(socket, 'data')) as [Buffer];
    expect(chunk.toString()).toMatch(/^HTTP\/1\.1 409 [^]*lock-timeout/);
    socket.destroy();
    expect(await locks.look(name)).toMatchObject({ holder, queueLength: 0 });
  });

  test('and has gone when the lock is granted does not get it', async () => {
    const leases = api.app.get(RemoteLeases);
    const name = locks.freshName();
    const gone = AbortSignal.abort(new Error('gone'));
    const request = { leaseMs: 60_000, waitMs: 0, terms: '', requestKey: undefined, signal: gone };
    await expect(
      inTenant('default', () =>
        leases.acquire(api.app.get(RemoteLocks).lendable(name, { leaseMs: 60_000 }), request),
      ),
    ).rejects.toThrow('gone');
    expect(await locks.look(name)).toMatchObject({ holder: null, fencingToken: expect.any(Number) });
  });

  test('is refused when the server ends', async () => {
    const name = locks.freshName();
    await locks.take(name);
    const ending = await startApi({ MORTISE_PREFIX: prefix });
    const waiting = [1, 2].map(() => locks.post(`${name}/acquire`, { waitMs: 30_000 }, {}, ending));
    await locks.untilQueued(name, 2);
    await ending.close();
    for (const { status, json } of await Promise.all(waiting)) {
      expect([status, json.type]).toEqual([503, problem('shutting-down')]);
    }
    await locks.untilQueued(name, 0);
  });
});

describe('the list', () => {
  test('has each lock that is held or waited for once, and no other', async () => {
    const held = await Promise.all(Array.from({ length: 30 }, () => locks.take(locks.freshName())));
    const free = await locks.take(locks.freshName());
    await locks.post(`${free.name}/release`, { holder: free.holder });
    const strange = new Mutex(redis, 'a b}:{*}:lease\n', { prefix });
    const lease = await strange.acquire();
    const waiting = locks.post(`${held[0].name}/acquire`, { waitMs: 30_000 });
    await locks.untilQueued(held[0].name, 1);
    // The lease of the holder has expired, and no re-check has run yet: only the queue remains.
    const orphaned = locks.freshName();
    await redis.zadd(`${prefix}:locks:{${orphaned}}:queue`, 1, 'gone.1.1000');

    const items = await locks.list(200);
    const byName = new Map(items.map((item) => [item.name, item]));
    expect(byName.size).toBe(items.length);
    for (const { name, holder, fencingToken } of held) {
      expect(byName.get(name)).toEqual({
        name,
        holder,
        owner: null,
        fencingToken,
        remainingMs: expect.any(Number),
        queueLength: name === held[0].name ? 1 : 0,
        longestWaitMs: expect.any(Number),
      });
    }
    expect(byName.get('a b}:{*}:lease\n')).toMatchObject({ holder: lease.holder });
    expect(byName.get(orphaned)).toEqual({
      name: orphaned,
      holder: null,
      owner: null,
      fencingToken: null,
      remainingMs: 0,
      queueLength: 1,
      longestWaitMs: expect.any(Number),
    });
    expect(byName.has(free.name)).toBe(false);
    const small = await locks.list(1);
    expect(small).toHaveLength(byName.size);
    expect(new Set(small.map(({ name }) => name))).toEqual(new Set(byName.keys()));

    await lease.release();
    await redis.del(`${prefix}:locks:{${orphaned}}:queue`);
    await locks.post(`${held[0].name}/release`, { holder: held[0].holder });
    expect((await waiting).status).toBe(201);
  });

  test('of a prefix that looks like a pattern has no locks of others', async () => {
    const odd = `${prefix}*[a-z]?`;
    const other = await startApi({ MORTISE_PREFIX: odd });
    await locks.take(locks.freshName());
    const name = locks.freshName();
    expect((await locks.post(`${name}/acquire`, {}, {}, other)).status).toBe(201);
    // All pages: on a busy machine one may be empty.
    const items = await locks.list(200, other);
    expect(items.map((item) => item.name)).toEqual([name]);
  });

  test('goes on from a cursor that it has given, and refuses others', async () => {
    const read = (cursor: string): Promise<Answer> => api.send({ path: `/v1/locks?cursor=${cursor}` });
    expect((await read(Buffer.from('- 18').toString('base64url'))).status).toBe(200);
    for (const text of ['-', '18', '- 18 ', '- 99999999999999999999', '- -1', '- 1 TYPE hash']) {
      const { status, json } = await read(Buffer.from(text).toString('base64url'));
      expect([text, status, json.type]).toEqual([text, 400, problem('invalid-cursor')]);
    }
  });
});
