/** Quotas of keys and bytes, and the walk that counts them. */
import { describe, expect, test } from '@jest/globals';
import { Mutex } from '@mortise/locks';
import { connect, until } from '@mortise/test-kit';

import { isOfDeployment } from '../../src/callers/route-scopes.js';
import { SCOPES } from '../../src/callers/scopes.js';
import type { QuotaValues } from '../../src/callers/tenant-store.js';
import { operationsOf } from '../../src/metrics/operations.js';
import { readConfig } from '../../src/config.js';
import { createLog } from '@mortise/app-common/log';
import { Metrics } from '@mortise/app-common/operations';
import type { Answer, Api, Sent } from '../fixture/api.js';
import { startApi } from '../fixture/api.js';
import { keysOf } from '../fixture/redis.js';
import { Run } from '../fixture/run.js';
import type { Sender } from '../fixture/run.js';
import { SocketClient } from '../fixture/streams.js';
import { WRITES } from '../fixture/writes.js';

const ADMIN = 'mk_admin_0123456789012345678901';
const ENV = { AUTH: 'keys', ADMIN_KEY: ADMIN, QUOTA_COUNT_MS: '50' };
const redis = connect();
const api = await startApi(ENV);

const bearer = (key: string): Record<string, string> => ({ authorization: `Bearer ${key}` });
const slugOf = ({ json }: Answer): string => String(json?.type).split('/').at(-1)!;
const by = (key: string, its: Api = api): Sender => ({
  send: (sent: Sent) => its.send({ ...sent, headers: { ...sent.headers, ...bearer(key) } }),
});
const admin = by(ADMIN);

interface Tenant extends Sender {
  readonly id: string;
  readonly key: string;
  readonly limitTo: (quotas: QuotaValues) => Promise<void>;
  readonly usage: () => Promise<{ keys: number; bytes?: number; countedAt: number } | null>;
  /** Status and problem of a write of one more key. */
  readonly write: (name: string) => Promise<unknown[]>;
  readonly delete: (name: string) => Promise<number>;
}

async function createTenant(id: string, quotas: QuotaValues): Promise<Tenant> {
  const limitTo = async (its: QuotaValues): Promise<void> => {
    const body = { quotas: its };
    const { status } = await admin.send({ method: 'PUT', path: `/v1/admin/tenants/${id}`, body });
    expect(status).toBeLessThan(300);
  };
  await limitTo(quotas);
  const body = { tenant: id, scopes: SCOPES.filter((scope) => scope !== 'tenants:admin') };
  const { json } = await admin.send({ method: 'PUT', path: `/v1/admin/keys/${id}`, body });
  const key = json.key as string;
  const { send } = by(key);
  const entry = (name: string): string => `/v1/caches/c/entries/${name}`;
  return {
    id,
    key,
    send,
    limitTo,
    usage: async () => (await admin.send({ path: `/v1/admin/tenants/${id}` })).json.usage,
    write: async (name) => {
      const answer = await send({ method: 'PUT', path: entry(name), body: { value: name } });
      return answer.status < 300 ? [] : [answer.status, slugOf(answer), answer.json.quota];
    },
    delete: async (name) => (await send({ method: 'DELETE', path: entry(name) })).status,
  };
}

const overKeys = [429, 'quota-exceeded', 'keys'];

describe('a tenant over its quota of keys', () => {
  /** They add no data: they end, release, ack or move data. */
  const PASSING = [
    'POST /caches/{cache}/invalidations',
    'POST /chats/{id}/typing',
    'POST /file-channels/{channel}/end',
    'POST /files/{id}/acks',
    'POST /locks/{name}/force-release',
    'POST /locks/{name}/release',
    'POST /locks/{name}/renew',
    'POST /mailboxes/{recipient}/ack',
    'POST /multi-locks/release',
    'POST /multi-locks/renew',
    'POST /queues/{queue}/bulk-operations',
    'POST /queues/{queue}/claims',
    'POST /queues/{queue}/clean',
    'POST /queues/{queue}/drain',
    'POST /queues/{queue}/flows/cancel',
    'POST /queues/{queue}/pause',
    'POST /queues/{queue}/resume',
    'POST /queues/{queue}/retry',
    'POST /queues/{queue}/tasks/{id}/cancel',
    'POST /queues/{queue}/tasks/{id}/complete',
    'POST /queues/{queue}/tasks/{id}/fail',
    'POST /queues/{queue}/tasks/{id}/give-back',
    'POST /queues/{queue}/tasks/{id}/heartbeat',
    'POST /queues/{queue}/tasks/{id}/log',
    'POST /queues/{queue}/tasks/{id}/priority',
    'POST /queues/{queue}/tasks/{id}/progress',
    'POST /queues/{queue}/tasks/{id}/promote',
    'POST /queues/{queue}/tasks/{id}/reschedule',
    'POST /queues/{queue}/tasks/{id}/retry',
    'POST /queues/{queue}/tasks/{id}/steps',
    'POST /queues/{queue}/tasks/{id}/wait',
    'PUT /queues/{queue}/tasks/{id}/cursor',
    'POST /read-write-locks/{name}/force-release',
    'POST /read-write-locks/{name}/release',
    'POST /read-write-locks/{name}/renew',
    'POST /semaphores/{name}/force-release',
    'POST /semaphores/{name}/release',
    'POST /semaphores/{name}/renew',
    'POST /session',
    'PUT /chats/{id}/members/{member}/cursor',
  ];
  const routes = Object.keys(WRITES).filter((route) => !isOfDeployment(`/v1${route.split(' ')[1]}`));

  test('gets 429 on each route that adds data, and may delete, end and acknowledge', async () => {
    const tenant = await createTenant('full', {});
    const runs = new Map(routes.map((route) => [route, new Run(route, tenant)]));
    for (const run of runs.values()) await run.prepare();
    await tenant.limitTo({ keys: 1 });
    await until('the first refusal', async () => (await tenant.write('more')).length > 0);
    const passing: string[] = [];
    const refusals: unknown[][] = [];
    for (const [route, run] of runs) {
      const answer = await run.act(tenant);
      const refusal = answer.status < 300 ? [] : [answer.status, slugOf(answer), answer.json.quota];
      if (refusal.length === 0) passing.push(route);
      else refusals.push([route, ...refusal]);
    }
    expect(refusals).toEqual(refusals.map(([route]) => [route, ...overKeys]));
    const deletes = routes.filter((route) => route.startsWith('DELETE '));
    expect(passing.toSorted()).toEqual([...PASSING, ...deletes].toSorted());
  });

  test('posts by a WebSocket no more, and may read and ack', async () => {
    const tenant = await createTenant('chatty', {});
    const chat = { sender: 'anna', members: ['bob'], chatId: 'c', body: 'one' };
    await tenant.send({ method: 'POST', path: '/v1/chats', body: chat });
    await tenant.limitTo({ keys: 1 });
    await until('the first refusal', async () => (await tenant.write('more')).length > 0);
    const socket = await SocketClient.open(api.url, bearer(tenant.key));
    await socket.ask({ subscribe: 'bob' });
    const { error } = await socket.ask({ post: { chatId: 'c', body: 'two' } });
    expect([error.status, error.type.split('/').at(-1)]).toEqual([429, 'quota-exceeded']);
    expect(await socket.ask({ ack: { chatId: 'c', upToId: 1 } })).toMatchObject({ acked: { ackedId: 1 } });
    socket.socket.close();
  });

  test('may write again once it has deleted something and a walk has counted', async () => {
    const tenant = await createTenant('brief', { keys: 4 });
    let written = 0;
    await until('the first refusal', async () => {
      const refusal = await tenant.write(String(written));
      if (refusal.length === 0) written += 1;
      return refusal.length > 0;
    });
    const answer = await tenant.send({ method: 'PUT', path: '/v1/caches/c/entries/x', body: { value: 1 } });
    expect(answer.json).toMatchObject({ quota: 'keys', limit: 4, countedAt: expect.any(Number) });
    expect([answer.json.used >= 4, answer.headers['retry-after']]).toEqual([true, '1']);
    for (let index = 0; index < written; index += 1)
      expect(await tenant.delete(String(index))).toBeLessThan(300);
    await until('a write', async () => (await tenant.write('again')).length === 0);
  });
});

describe('the usage of a tenant', () => {
  test('is its keys and their bytes as Redis measures them, for each tenant apart', async () => {
    const [ann, ben] = [await createTenant('ann', { bytes: 1e9 }), await createTenant('ben', { keys: 1e6 })];
    const free = await createTenant('free', { tasks: 5 });
    for (let index = 0; index < 30; index += 1) {
      await ann.write(`ä${index}`);
      if (index % 2 === 0) await ben.write(`b${index}`);
    }
    await free.write('f');
    await ann.send({
      method: 'POST',
      path: '/v1/queues/q/tasks',
      body: { name: 'n', payload: 'x'.repeat(9_999) },
    });
    const keys = {
      ann: await keysOf(redis, `${api.prefix}.t.ann`),
      ben: await keysOf(redis, `${api.prefix}.t.ben`),
    };
    const sizes = await Promise.all(keys.ann.map((key) => redis.memory('USAGE', key)));
    const bytes = sizes.reduce<number>((sum, each) => sum + (each ?? 0), 0);
    const before = Date.now();
    await until('the counts', async () => ((await ann.usage())?.countedAt ?? 0) > before);
    expect(await ann.usage()).toEqual({ keys: keys.ann.length, bytes, countedAt: expect.any(Number) });
    expect(await ben.usage()).toEqual({ keys: keys.ben.length, countedAt: expect.any(Number) });
    expect(await free.usage()).toBeNull();
    expect([bytes > 9_999, keys.ben.length > 15]).toEqual([true, true]);
    await ann.limitTo({ bytes: 9_999 });
    await until('the refusal', async () => (await ann.write('more')).length > 0);
    expect(await ann.write('more')).toEqual([429, 'quota-exceeded', 'bytes']);
  });

  test('is a metric', async () => {
    const metrics = api.app.get(Metrics);
    operationsOf(api.app, readConfig({ MORTISE_PREFIX: api.prefix }), createLog('api', 'silent'));
    const text = await metrics.text();
    for (const line of [
      /^mortise_tenant_usage\{tenant="ann",kind="keys",app="api"\} \d+$/m,
      /^mortise_tenant_usage\{tenant="ann",kind="bytes",app="api"\} \d+$/m,
      /^mortise_tenant_usage_timestamp_seconds\{app="api"\} 1\d{9}/m,
    ])
      expect(text).toMatch(line);
  });

  test('is counted by another process once the lease of one that died has ended', async () => {
    const prefix = `${api.prefix}-dead`;
    const own = await startApi({ ...ENV, MORTISE_PREFIX: prefix });
    const send = by(ADMIN, own).send;
    const dead = new Mutex(redis, 'usage', { prefix: `${prefix}.limits`, leaseMs: 2_000, renew: false });
    const lease = await dead.acquire();
    const body = { quotas: { keys: 5 } };
    await send({ method: 'PUT', path: '/v1/admin/tenants/acme', body });
    const key = await send({
      method: 'PUT',
      path: '/v1/admin/keys/acme',
      body: { tenant: 'acme', scopes: ['cache:write'] },
    });
    const write = (): Promise<Answer> =>
      by(key.json.key as string, own).send({
        method: 'PUT',
        path: '/v1/caches/c/entries/x',
        body: { value: 1 },
      });
    const counts = (): Promise<string | null> => redis.get(`${prefix}.limits:api:{usage}:counts`);
    const seen = new Set<unknown>();
    await until('the end of the lease', async () => {
      const { status } = await write();
      const found = await counts();
      if (lease.isValid) seen.add(found).add(status);
      return !lease.isValid;
    });
    expect([...seen]).toEqual([null, 204]);
    await until('the count', async () => {
      await write();
      return (await counts()) !== null;
    });
    const { tenants } = JSON.parse((await counts())!) as { tenants: object };
    expect(Object.keys(tenants)).toEqual(['acme']);
  });

  test('costs nothing where no tenant has such a quota', async () => {
    const own = await startApi({ ...ENV, MORTISE_PREFIX: `${api.prefix}-none` });
    const monitor = await redis.monitor();
    const sent: string[] = [];
    monitor.on('monitor', (_time, args: string[]) => sent.push(args.join(' ')));
    const send = by(ADMIN, own).send;
    await send({ method: 'PUT', path: '/v1/admin/tenants/acme', body: { quotas: { tasks: 9 } } });
    const { json } = await send({
      method: 'PUT',
      path: '/v1/admin/keys/acme',
      body: { tenant: 'acme', scopes: ['cache:write'] },
    });
    const entry = { method: 'PUT', path: '/v1/caches/c/entries/x', body: { value: 1 } };
    expect((await by(json.key as string, own).send(entry)).status).toBeLessThan(300);
    await until('the write', () => sent.some((line) => line.includes(`${own.prefix}.t.acme:`)));
    expect(sent.filter((line) => line.includes(`${own.prefix}.limits`))).toEqual([]);
    monitor.disconnect();
  });
});
