import { afterEach, expect, test } from '@jest/globals';
import { startCluster, startSingle } from '@mortise/redis-server';
import { Cluster, Redis } from 'ioredis';

import type { Finding } from '../src/doctor/examine.js';
import { examine } from '../src/doctor/examine.js';

/** The last one first: clients before their servers. */
const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

async function single(): Promise<Redis> {
  const server = await startSingle();
  const redis = new Redis(server.url);
  closing.push(
    () => server.stop(),
    () => redis.disconnect(),
  );
  return redis;
}

const levelOf = (findings: readonly Finding[], subject: string): string | undefined =>
  findings.find((finding) => finding.subject.endsWith(subject))?.level;

test('a sound server has no problem, and nothing is left behind', async () => {
  const redis = await single();
  await redis.config('SET', 'appendonly', 'yes');
  const findings = await examine(redis, 'app');
  expect(findings.filter(({ level }) => level === 'problem')).toEqual([]);
  expect(findings.map(({ subject }) => subject.split(' ').at(-1))).toEqual([
    'version',
    'memory',
    'persistence',
    'replicas',
    'latency',
    'clock',
    'rights',
  ]);
  expect([levelOf(findings, 'memory'), levelOf(findings, 'replicas')]).toEqual(['advice', 'advice']);
  expect(await redis.dbsize()).toBe(0);
});

test('eviction, no append-only file and a role of replica are problems with an action', async () => {
  const redis = await single();
  await redis.config('SET', 'maxmemory-policy', 'allkeys-lru');
  const findings = await examine(redis, 'app');
  const problems = findings.filter(({ level }) => level === 'problem');
  expect(problems.map(({ action }) => action)).toEqual([
    'Set maxmemory-policy to noeviction',
    'Set appendonly to yes',
  ]);
  await redis.replicaof('127.0.0.1', '1');
  expect(levelOf(await examine(redis, 'app'), 'role')).toBe('problem');
});

test('a user without rights learns which commands are refused', async () => {
  const redis = await single();
  await redis.call('ACL', 'SETUSER', 'poor', 'on', '>x', '~app:*', '&*', '+@all', '-eval', '-info');
  const { host, port } = redis.options;
  const poor = new Redis({ host: host!, port: port!, username: 'poor', password: 'x' });
  closing.push(() => poor.disconnect());
  const findings = await examine(poor, 'app');
  expect(levelOf(findings, 'INFO')).toBe('advice');
  const rights = findings.find(({ subject }) => subject === 'rights')!;
  expect([rights.level, rights.found]).toEqual([
    'problem',
    expect.stringMatching(/^refused: EVAL \(NOPERM[^)]*\)$/),
  ]);
  const elsewhere = await examine(poor, 'other');
  expect(elsewhere.find(({ subject }) => subject === 'rights')!.found).toContain('SET (NOPERM');
});

test('a user without rights to keys of tenants and limits learns it as advice', async () => {
  const redis = await single();
  const rights = ['~app:*', '&app:*', '+@all', '-@admin', '-@dangerous', '+info'];
  await redis.call('ACL', 'SETUSER', 'narrow', 'on', '>x', ...rights);
  const { host, port } = redis.options;
  const narrow = new Redis({ host: host!, port: port!, username: 'narrow', password: 'x' });
  closing.push(() => narrow.disconnect());
  const rightsOf = async (): Promise<Finding[]> =>
    (await examine(narrow, 'app')).filter(({ subject }) => subject === 'rights');
  const action = expect.stringContaining('~app.* and &app.*');
  expect(await rightsOf()).toEqual([
    expect.objectContaining({ level: 'ok' }),
    {
      level: 'advice',
      subject: 'rights',
      found: expect.stringMatching(/^refused for tenants: SET \(NOPERM/),
      action,
    },
    {
      level: 'advice',
      subject: 'rights',
      found: expect.stringMatching(/^refused for limits .*: SET \(NOPERM/),
      action,
    },
  ]);
  await redis.call('ACL', 'SETUSER', 'narrow', '~app.*', '&app.*');
  expect((await rightsOf()).map(({ level }) => level)).toEqual(['ok']);
});

test('a Cluster is examined master by master; named as a single server it is a problem', async () => {
  const servers = await startCluster();
  closing.push(() => servers.stop());
  const [first] = servers.nodes;
  const cluster = new Cluster([{ host: '127.0.0.1', port: first!.port }]);
  closing.push(() => cluster.disconnect());
  await cluster.ping();
  const findings = await examine(cluster, 'app');
  expect(findings.filter(({ subject }) => subject.endsWith('Cluster')).map(({ level }) => level)).toEqual([
    'ok',
    'ok',
    'ok',
  ]);
  const alone = new Redis({ host: '127.0.0.1', port: first!.port });
  closing.push(() => alone.disconnect());
  expect(levelOf(await examine(alone, 'app'), 'Cluster')).toBe('problem');
});
