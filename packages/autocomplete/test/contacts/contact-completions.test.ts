import { describe, expect, test } from '@jest/globals';
import { RecentContacts } from '@mortise/autocomplete';
import { connect, freshPrefix, runServer, transcript } from '@mortise/test-kit';
import { Redis } from 'ioredis';
import * as scripts from '../../src/scripts.gen.js';

const USERS = Array.from({ length: 40 }, (_, index) => `user-${index}`);
/** Takes keys of any slots in a call, which that of the test run does not: it is a Cluster of one node. */
const { server, redis: single } = await runServer();

async function callsOf(redis: Redis, prefix: string, run: () => Promise<unknown>): Promise<string[]> {
  const lines = await transcript(redis, { prefix, scripts }, run);
  return lines.filter((line) => line.startsWith('eval'));
}

async function touchAll(redis: Redis, options: { prefix: string; halfLifeMs?: number }): Promise<void> {
  const recent = new RecentContacts(redis, options);
  await Promise.all(USERS.map((user) => recent.touch(user, `José of ${user}`)));
}

describe.each([
  ['lists', 'recent', {}],
  ['sets by frecency', 'ranked', { halfLifeMs: 60_000 }],
])('completions of one tick in %s', (_, part, options) => {
  test('share a call for each sixteen on a single server, each with its own text and limit', async () => {
    const prefix = freshPrefix();
    await touchAll(single, { prefix, ...options });
    const recent = new RecentContacts(single, { prefix, ...options });
    await recent.complete('anna', 'j');
    await recent.touch('user-0', 'Joe');
    let found: string[][] = [];
    const calls = await callsOf(single, prefix, async () => {
      found = await Promise.all([
        ...USERS.map((user, index) => recent.complete(user, index % 2 ? 'x' : 'jos')),
        recent.complete('user-0', '', { limit: 1 }),
        recent.complete('user-0', '', { limit: 2 }),
      ]);
    });
    expect(calls).toHaveLength(3);
    expect(found.slice(0, -2)).toEqual(USERS.map((user, index) => (index % 2 ? [] : [`José of ${user}`])));
    expect(found.slice(-2).map((each) => each.length)).toEqual([1, 2]);
  });

  test('travel by user where a server refuses keys of several slots, also the next ones', async () => {
    const redis = connect();
    const prefix = freshPrefix();
    await touchAll(redis, { prefix, ...options });
    const recent = new RecentContacts(redis, { prefix, ...options });
    const complete = (): Promise<string[][]> => Promise.all(USERS.map((user) => recent.complete(user, 'jo')));
    const wanted = USERS.map((user) => [`José of ${user}`]);
    expect(await complete()).toEqual(wanted);
    let found: string[][] = [];
    const calls = await callsOf(redis, prefix, async () => {
      found = await complete();
    });
    expect(calls).toHaveLength(USERS.length);
    expect(found).toEqual(wanted);
  });

  test('fail for users whose key the connection may not read, and for no others', async () => {
    const prefix = freshPrefix();
    await touchAll(single, { prefix, ...options });
    const pattern = `~${prefix}:autocomplete:{user-?}:*`;
    await single.call('ACL', ['SETUSER', `read-${part}`, 'on', '>secret', '+@all', pattern]);
    const limited = new Redis(server.url, { username: `read-${part}`, password: 'secret' });
    const recent = new RecentContacts(limited, { prefix, ...options });
    const outcomes = await Promise.allSettled(USERS.map((user) => recent.complete(user, 'jo')));
    limited.disconnect();
    const results = outcomes.map((outcome) =>
      outcome.status === 'fulfilled' ? outcome.value : String(outcome.reason),
    );
    const refused: unknown = expect.stringContaining('NOPERM');
    expect(results).toEqual(USERS.map((user, index) => (index < 10 ? [`José of ${user}`] : refused)));
  });

  test('fail for users with a key of another type, and for no others', async () => {
    const prefix = freshPrefix();
    await touchAll(single, { prefix, ...options });
    await single.set(`${prefix}:autocomplete:{user-3}:${part}:1`, 'text');
    const recent = new RecentContacts(single, { prefix, ...options });
    const [broken, whole] = await Promise.allSettled([
      recent.complete('user-3', 'jo'),
      recent.complete('user-4', 'jo'),
    ]);
    expect(broken).toMatchObject({
      status: 'rejected',
      reason: { message: expect.stringContaining('WRONGTYPE') },
    });
    expect(whole).toEqual({ status: 'fulfilled', value: ['José of user-4'] });
  });
});

test('entries over the capacity are not found, whatever the capacity of the process that touched', async () => {
  const prefix = freshPrefix();
  const large = new RecentContacts(single, { prefix, capacity: 60 });
  const small = new RecentContacts(single, { prefix, capacity: 4 });
  const names = Array.from({ length: 50 }, (_, index) => `n${index}`);
  await large.touchMany('anna', names);
  const latest = names.toReversed();
  expect(await small.complete('anna', 'n', { limit: 60 })).toEqual(latest.slice(0, 4));
  expect(await small.list('anna')).toEqual(latest.slice(0, 4));
  expect(await large.complete('anna', 'n', { limit: 60 })).toEqual(latest);
});
