import { setImmediate as nextTick } from 'node:timers/promises';
import { describe, expect, jest, test } from '@jest/globals';
import { RecentContacts } from '@mortise/autocomplete';
import { connect, freshPrefix, runServer, transcript } from '@mortise/test-kit';
import { Redis } from 'ioredis';
import { ContactChanges } from '../../src/contacts/contact-changes.js';
import * as scripts from '../../src/scripts.gen.js';

const USERS = Array.from({ length: 60 }, (_, index) => `user-${index}`);
/** Takes keys of any slots in a call, which that of the test run does not: it is a Cluster of one node. */
const { server, redis: single } = await runServer();

async function callsOf(redis: Redis, prefix: string, run: () => Promise<unknown>): Promise<string[]> {
  const lines = await transcript(redis, { prefix, scripts }, run);
  return lines.filter((line) => line.startsWith('eval'));
}

/** A connection to the single server that may touch the keys of a pattern alone. */
async function limitedTo(name: string, pattern: string): Promise<Redis> {
  await single.call('ACL', ['SETUSER', name, 'on', '>secret', '+@all', pattern]);
  return new Redis(server.url, { username: name, password: 'secret' });
}

/** Makes changes while Redis lets all that the connection sends wait, so that no reply comes between them. */
async function whileHeld<Change>(
  redis: Redis,
  { gate, other }: { gate: string; other: Redis },
  make: () => Promise<readonly Promise<Change>[]>,
): Promise<Change[]> {
  const opened = redis.blpop(gate, 0);
  const changes = await make();
  await other.rpush(gate, 'open');
  await opened;
  return Promise.all(changes);
}

describe.each([
  ['lists', 'recent', {}],
  ['sets by frecency', 'ranked', { halfLifeMs: 60_000 }],
])('changes of one tick to %s', (_, part, options) => {
  test('share a few calls on a single server, those of a user the same one', async () => {
    const prefix = freshPrefix();
    const recent = new RecentContacts(single, { prefix, ...options });
    await recent.touch('anna', 'jack');
    const calls = await callsOf(single, prefix, () =>
      Promise.all(USERS.flatMap((user) => ['a', 'b'].map((contact) => recent.touch(user, contact)))),
    );
    expect(calls.length).toBeLessThanOrEqual(3);
    for (const user of USERS) {
      expect(calls.filter((call) => call.includes(`{${user}}`))).toHaveLength(1);
      expect((await recent.list(user)).toSorted()).toEqual(['a', 'b']);
    }
    const removed = await Promise.all(USERS.map((user, index) => recent.remove(user, index % 2 ? 'a' : 'c')));
    expect(removed).toEqual(USERS.map((__, index) => index % 2 === 1));
  });

  test('travel by user where a server refuses keys of several slots', async () => {
    const redis = connect();
    const prefix = freshPrefix();
    const recent = new RecentContacts(redis, { prefix, ...options });
    const removed = await Promise.all(
      USERS.flatMap((user) => [recent.touch(user, 'a'), recent.remove(user, 'a'), recent.remove(user, 'a')]),
    );
    expect(removed).toEqual(USERS.flatMap(() => [undefined, true, false]));
    const calls = await callsOf(redis, prefix, () =>
      Promise.all(USERS.flatMap((user) => ['a', 'b'].map((contact) => recent.touch(user, contact)))),
    );
    expect(calls).toHaveLength(USERS.length);
    for (const user of USERS) expect((await recent.list(user)).toSorted()).toEqual(['a', 'b']);
  });

  test('keep the order of each user where a server refuses keys of several slots', async () => {
    const redis = connect();
    const prefix = freshPrefix();
    const recent = new RecentContacts(redis, { prefix, ...options });
    // The first use of the script sends two commands.
    await recent.touch('anna', 'a');
    const held = { gate: `${prefix}:gate`, other: connect() };
    const wereThere = await whileHeld<boolean | void>(redis, held, async () => {
      const refused = USERS.map((user) => recent.touch(user, 'a'));
      const alone: Promise<boolean>[] = [];
      for (const user of USERS.slice(0, 3)) {
        await nextTick();
        // Redis does not refuse this one.
        alone.push(recent.remove(user, 'a'));
      }
      return [...refused, ...alone];
    });
    expect(wereThere.slice(USERS.length)).toEqual([true, true, true]);
    for (const user of USERS.slice(0, 3)) expect(await recent.list(user)).toEqual([]);
  });

  test('keep the order of a user in a call with a refused key of another user', async () => {
    const prefix = freshPrefix();
    const limited = await limitedTo(`order-${part}`, `~${prefix}:autocomplete:{user-?}:*`);
    const recent = new RecentContacts(limited, { prefix, ...options });
    await recent.touch('user-0', 'z');
    const held = { gate: `${prefix}:autocomplete:{user-0}:gate`, other: single };
    const wereThere = await whileHeld<boolean | void>(limited, held, async () => {
      const refused = USERS.map((user) => recent.touch(user, 'a'));
      for (const change of refused) change.catch(() => {});
      await nextTick();
      const removed = recent.remove('user-1', 'a');
      await nextTick();
      return [...refused.slice(0, 10), removed, recent.remove('user-1', 'a')];
    });
    expect(wereThere.slice(10)).toEqual([true, false]);
    expect(await recent.list('user-1')).toEqual([]);
    limited.disconnect();
  });

  test('go in calls of a hundred, those of a user in their order', async () => {
    const prefix = freshPrefix();
    const recent = new RecentContacts(single, { prefix, ...options });
    await recent.touch('anna', 'a');
    const numbers = Array.from({ length: 250 }, (__, index) => index);
    const calls = await callsOf(single, prefix, () =>
      Promise.all([...numbers.map((number) => recent.touch('anna', String(number))), recent.touch('b', 'b')]),
    );
    const sizes = calls.map((call) => call.split(`{anna}:${part}`).length - 1);
    expect(sizes.filter((size) => size > 0)).toEqual([100, 100, 50]);
    const kept = (await recent.list('anna')).map(Number);
    const latest = numbers.slice(150).toReversed();
    // By frecency, those that counted once stand in an order of their own.
    expect(part === 'recent' ? kept : kept.length).toEqual(part === 'recent' ? latest : latest.length);
  });

  test('fail for users with a key of another type, and for no others', async () => {
    const prefix = freshPrefix();
    const recent = new RecentContacts(single, { prefix, ...options });
    const broken = USERS.filter((__, index) => index % 4 === 0);
    for (const user of broken) await single.set(`${prefix}:autocomplete:{${user}}:${part}:1`, 'text');
    const outcomes = await Promise.allSettled(
      USERS.flatMap((user) => [recent.touch(user, 'a'), recent.remove(user, 'a'), recent.touch(user, 'b')]),
    );
    const results = outcomes.map((outcome) =>
      outcome.status === 'fulfilled' ? outcome.value : String(outcome.reason),
    );
    const wrongType: unknown = expect.stringContaining('WRONGTYPE');
    const wanted = USERS.flatMap((user) =>
      broken.includes(user) ? [wrongType, wrongType, wrongType] : [undefined, true, undefined],
    );
    expect(results).toEqual(wanted);
    for (const user of broken) {
      expect(await single.get(`${prefix}:autocomplete:{${user}}:${part}:1`)).toBe('text');
    }
    for (const user of USERS.filter((one) => !broken.includes(one))) {
      expect(await recent.list(user)).toEqual(['b']);
    }
  });

  test('fail for users whose key the connection may not write, and for no others', async () => {
    const prefix = freshPrefix();
    const limited = await limitedTo(`only-${part}`, `~${prefix}:autocomplete:{user-?}:*`);
    const recent = new RecentContacts(limited, { prefix, ...options });
    const outcomes = await Promise.allSettled(USERS.map((user) => recent.touch(user, 'a')));
    limited.disconnect();
    const reasons = outcomes.map((outcome) =>
      outcome.status === 'rejected' ? String(outcome.reason) : 'done',
    );
    expect(reasons.slice(0, 10)).toEqual(USERS.slice(0, 10).map(() => 'done'));
    expect(reasons.slice(10)).toEqual(USERS.slice(10).map(() => expect.stringContaining('NOPERM')));
  });
});

describe('a call that is refused', () => {
  const users = USERS.slice(0, 10);

  test.each([
    // The message of Redis 7.0, and that of later versions.
    ['this user has no permissions to access one of the keys used as arguments', true],
    ['No permissions to access a key', true],
    ["this user has no permissions to run the 'evalsha' command", false],
    ["User api-key has no permissions to run the 'evalsha' command", false],
    ["The user executing the script can't access at least one of the keys mentioned in the command", false],
  ])('because "%s" is sent again by user: %s', async (refusal, isSentAgain) => {
    let calls = 0;
    const changes = new ContactChanges(single, async ({ keys }) => {
      calls += 1;
      if (keys.length > 1) throw new Error(`NOPERM ${refusal}`);
      return [1];
    });
    const outcomes = await Promise.allSettled(
      users.map((key) => changes.submit({ key, sign: '+', entry: 'a' })),
    );
    const results = outcomes.map((outcome) => (outcome.status === 'fulfilled' ? 'done' : 'refused'));
    // Ten users go in three calls, none of them alone.
    expect(calls).toBe(isSentAgain ? 3 + users.length : 3);
    expect(results).toEqual(users.map(() => (isSentAgain ? 'done' : 'refused')));
  });
});

test('thousands of changes of a user are not moved about with each call', async () => {
  const sizes: number[] = [];
  const changes = new ContactChanges(single, async ({ keys }) => {
    sizes.push(keys.length);
    return keys.map(() => 1);
  });
  let moved = 0;
  const splice = Reflect.get(Array.prototype, 'splice') as (...args: unknown[]) => unknown[];
  const spy = jest.spyOn(Array.prototype, 'splice').mockImplementation(function cut(this: unknown, ...args) {
    const removed = Reflect.apply(splice, this, args);
    moved += removed.length;
    return removed;
  });
  const all = Array.from({ length: 5_000 }, (_, index) =>
    changes.submit({ key: 'anna', sign: '+', entry: String(index) }),
  );
  await Promise.all(all);
  spy.mockRestore();
  expect(sizes).toEqual(Array.from({ length: 50 }, () => 100));
  expect(moved).toBeLessThan(all.length);
});
