/** The counts of keys and bytes on Redis Cluster. */
import { expect, test } from '@jest/globals';
import { freshPrefix, runCluster, until } from '@mortise/test-kit';

import type { Answer, Sent } from './fixture/api.js';
import { startApi } from './fixture/api.js';

const ADMIN = 'mk_admin_0123456789012345678901';
const { servers, cluster } = await runCluster({ replicasPerMaster: 0 });

test('a walk counts the keys of all masters', async () => {
  const prefix = freshPrefix();
  const api = await startApi({
    REDIS_URL: '',
    REDIS_CLUSTER_NODES: servers.startupNodes.map(({ host, port }) => `${host}:${port}`).join(','),
    MORTISE_PREFIX: prefix,
    AUTH: 'keys',
    ADMIN_KEY: ADMIN,
    QUOTA_COUNT_MS: '50',
  });
  const put = (path: string, body: Sent['body'] = {}, key = ADMIN): Promise<Answer> =>
    api.send({ method: 'PUT', path: `/v1/${path}`, body, headers: { authorization: `Bearer ${key}` } });
  await put('admin/tenants/acme', { quotas: { keys: 90, bytes: 1e9 } });
  const { json } = await put('admin/keys/acme', { tenant: 'acme', scopes: ['cache:write'] });
  const write = async (name: string): Promise<number> =>
    (await put(`caches/c-${name}/entries/x`, { value: name }, json.key as string)).status;
  for (let index = 0; index < 100; index += 1) await write(String(index));
  let [keys, bytes] = [0, 0];
  const perMaster: number[] = [];
  for (const master of cluster.nodes('master')) {
    const found = await master.keys(`${prefix}.t.acme:*`);
    perMaster.push(found.length);
    keys += found.length;
    for (const key of found) bytes += (await master.memory('USAGE', key)) ?? 0;
  }
  expect(perMaster.every((each) => each > 0)).toBe(true);
  const headers = { authorization: `Bearer ${ADMIN}` };
  const usage = await until('the counts', async () => {
    const { json: shown } = await api.send({ path: '/v1/admin/tenants/acme', headers });
    return shown.usage?.keys === keys && (shown.usage as { bytes: number });
  });
  expect(usage.bytes).toBe(bytes);
  await until('the refusal', async () => (await write('more')) === 429);
});
