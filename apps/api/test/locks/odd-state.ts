/**
 * Other programs may write any value to the keys of locks and semaphores: the API shows the readable ones, and reports no
 * defect of its own.
 */
import { describe, expect, test } from '@jest/globals';

import { locksPage, lockSchema, semaphoreSchema, semaphoresPage } from '../../src/locks/schemas.js';
import type { Answer } from '../fixture/api.js';
import { api, prefix, redis } from './leases.js';

const HOLDER = 'q0-3zLcXb9dTt2Vw.1k.1000';
const PERMIT_HOLDER = `${HOLDER}.2`;
const UNREADABLE = {
  status: 503,
  json: {
    type: 'https://mortise.dev/problems/redis-unavailable',
    detail: expect.stringContaining('hold no state of a '),
  },
};

/** Commands, each with the part of the key where the key stands; `<part>` is replaced. */
type Plant = readonly (readonly [string, string, ...(string | number | Buffer)[]])[];

async function plant(name: string, commands: Plant): Promise<void> {
  for (const [command, part, ...rest] of commands) {
    await redis.call(command, [`${prefix}:locks:{${name}}:${part}`, ...rest]);
  }
}

const look = (kind: 'locks' | 'semaphores', name: string): Promise<Answer> =>
  api.send({ path: `/v1/${kind}/${name}` });

const held: Plant = [['SET', 'lease', HOLDER, 'PX', 60_000]];

describe('a lock', () => {
  const free = { holder: null, fencingToken: null, remainingMs: 0, queueLength: 0 };

  test.each<[string, Plant, object]>([
    ['has a token that is none', [...held, ['SET', 'token', '-5']], { holder: HOLDER, fencingToken: null }],
    ['has the token 0', [['SET', 'token', '0']], free],
    ['has a token with a fraction', [['SET', 'token', '0.5']], free],
    [
      'has a token past what JSON counts',
      [...held, ['SET', 'token', '9007199254740993']],
      { fencingToken: null },
    ],
    ['has a token past 64 bits', [...held, ['SET', 'token', `1${'0'.repeat(30)}`]], { fencingToken: null }],
    ['has an infinite token', [...held, ['SET', 'token', '1e999']], { fencingToken: null }],
    ['has a holder of another form', [['SET', 'lease', 'me, ☃']], { holder: 'me, ☃', remainingMs: 0 }],
    ['has a holder without a name', [['SET', 'lease', '', 'PX', 60_000]], { holder: '' }],
    ['has a holder that is a number', [['SET', 'lease', '42']], { holder: '42' }],
    ['has a holder of bytes', [['SET', 'lease', Buffer.from('ff00c3', 'hex')]], { holder: '\uFFFD\0\uFFFD' }],
    ['has a long holder', [['SET', 'lease', `${'x'.repeat(255)}😀`]], { holder: `${'x'.repeat(255)}\uFFFD` }],
    ['was lost', [['SET', 'lease', 'lost', 'PX', 60_000]], { holder: null, remainingMs: expect.any(Number) }],
    [
      'lasts for ever, nearly',
      [
        ['SET', 'lease', HOLDER],
        ['PEXPIRE', 'lease', '9223370000000000000'],
      ],
      { holder: HOLDER, remainingMs: Number.MAX_SAFE_INTEGER },
    ],
    ['has odd waiters', [['ZADD', 'queue', '-inf', '', 'inf', '☃']], { ...free, queueLength: 2 }],
  ])('that %s is shown', async (what, commands, state) => {
    const name = `lock:${what.replaceAll(/\W/g, '-')}`;
    await plant(name, commands);
    const { status, json } = await look('locks', name);
    expect([status, json]).toEqual([200, expect.objectContaining({ name, ...state })]);
    expect(lockSchema.safeParse(json).error).toBeUndefined();
  });

  test.each<[string, Plant]>([
    ['lease', [['HSET', 'lease', 'a', 'b']]],
    ['token', [...held, ['SADD', 'token', 'a']]],
    ['queue', [...held, ['SET', 'queue', 'a']]],
  ])('whose %s is of another type is not taken for a free one', async (part, commands) => {
    await plant(`lock:of-type-${part}`, commands);
    expect(await look('locks', `lock:of-type-${part}`)).toMatchObject(UNREADABLE);
  });

  test.each(['garbage', '', '17e', '\0'])(
    'whose token is %j is shown without one, or not at all',
    async (token) => {
      const name = `lock:garbage-${Buffer.from(token).toString('hex')}`;
      await plant(name, [...held, ['SET', 'token', token]]);
      const answer = await look('locks', name);
      const shown = { status: 200, json: { holder: HOLDER, fencingToken: null } };
      expect(answer).toMatchObject(answer.status === 200 ? shown : UNREADABLE);
    },
  );
});

describe('a semaphore', () => {
  const state = (...numbers: number[]): Buffer =>
    // MessagePack: small numbers are their own bytes.
    Buffer.from(numbers.map((number) => number & 0xff));
  const three = state(3, 2, 0, 0, 0, 0, 0, 0);

  test.each<[string, Plant, object]>([
    [
      'has holders of other forms',
      [
        ['SET', 'permits-state', three],
        ['ZADD', 'permits', 'inf', 'me, ☃', 'inf', '', 'inf', 'a.b.c.-1', '9e15', PERMIT_HOLDER],
      ],
      {
        limit: 3,
        holders: expect.arrayContaining([
          { holder: 'me, ☃', owner: null, permits: 1, remainingMs: expect.any(Number) },
          { holder: '', owner: null, permits: 1, remainingMs: expect.any(Number) },
          { holder: 'a.b.c.-1', owner: null, permits: 1, remainingMs: expect.any(Number) },
          { holder: PERMIT_HOLDER, owner: null, permits: 2, remainingMs: expect.any(Number) },
        ]),
      },
    ],
    ['has odd waiters', [['ZADD', 'permits-queue', '-inf', '☃']], { limit: null, used: 0, queueLength: 1 }],
    ['has holders and no state', [['ZADD', 'permits', '9e15', PERMIT_HOLDER]], { used: 2 }],
  ])('that %s is shown', async (what, commands, shown) => {
    const name = `semaphore:${what.replaceAll(/\W/g, '-')}`;
    await plant(name, commands);
    const { status, json } = await look('semaphores', name);
    expect([status, json]).toEqual([200, expect.objectContaining({ name, ...shown })]);
    expect(semaphoreSchema.safeParse(json).error).toBeUndefined();
  });

  test.each<[string, Plant]>([
    ['no state', [['SET', 'permits-state', Buffer.from('c1', 'hex')]]],
    ['half a state', [['SET', 'permits-state', state(3, 2)]]],
    ['a limit below 0', [['SET', 'permits-state', state(-3, 0, 0, 0, 0, 0, 0, 0)]]],
    ['a list as its state', [['RPUSH', 'permits-state', 'a']]],
    ['a text as its permits', [['SET', 'permits', 'a']]],
    ['a text as its queue', [['SET', 'permits-queue', 'a']]],
  ])('that has %s is not taken for a free one', async (what, commands) => {
    const name = `semaphore:${what.replaceAll(/\W/g, '-')}`;
    await plant(name, commands);
    expect(await look('semaphores', name)).toMatchObject(UNREADABLE);
  });
});

/** After all that was planted above. */
describe('the list', () => {
  async function listed(
    kind: 'locks' | 'semaphores',
    page: typeof locksPage | typeof semaphoresPage,
  ): Promise<string[]> {
    const names: string[] = [];
    let query = '';
    do {
      // A page looks at a limited number of keys, so a large database has short pages.
      const { status, json } = await api.send({ path: `/v1/${kind}?limit=200${query}` });
      expect([status, page.safeParse(json).error]).toEqual([200, undefined]);
      names.push(...json.items.map(({ name }: { name: string }) => name));
      query = json.nextCursor === null ? '' : `&cursor=${encodeURIComponent(json.nextCursor)}`;
    } while (query !== '');
    return names;
  }

  test('of locks has those that can be read, among whatever else there is', async () => {
    // No lock has these for its name, or is encoded like that.
    for (const name of ['', '%61', 'x'.repeat(2_000)]) await plant(name, held);
    await plant('lock:sound', held);
    await plant('a', held);
    const names = await listed('locks', locksPage);
    expect(names).toEqual(expect.arrayContaining(['lock:sound', 'lock:lasts-for-ever--nearly']));
    for (const part of ['lease', 'queue', 'token']) expect(names).not.toContain(`lock:of-type-${part}`);
    expect(names.filter((name) => name === 'a' || name === '' || name.length > 256)).toEqual(['a']);
  });

  test('of semaphores, as well', async () => {
    await plant('semaphore:sound', [['ZADD', 'permits', '9e15', PERMIT_HOLDER]]);
    await plant('semaphore:damaged', [
      ['ZADD', 'permits', '9e15', PERMIT_HOLDER],
      ['RPUSH', 'permits-state', 'a'],
    ]);
    const names = await listed('semaphores', semaphoresPage);
    expect(names).toEqual(expect.arrayContaining(['semaphore:sound', 'semaphore:has-odd-waiters']));
    expect(names).not.toContain('semaphore:damaged');
  });
});
