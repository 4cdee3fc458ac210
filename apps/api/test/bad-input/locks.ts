/** A wrong request for a lock gets a problem of a stable type at once, and the holder keeps the lock. */
import { describe, expect, test } from '@jest/globals';

import type { ProblemSlug } from '../../src/problems/catalogue.js';
import type { Sent } from '../fixture/api.js';
import { refused, text, row } from '../fixture/refusals.js';
import type { Shop } from '../fixture/refusals.js';

export function refuseInLocks(shop: Shop): void {
  const HOLDER = 'q0-3zLcXb9dTt2Vw.1k.1000';
  const acquire: Sent = row('POST /v1/locks/held/acquire');
  const renew: Sent = row('POST /v1/locks/held/renew');
  const release: Sent = row('POST /v1/locks/held/release');
  const forceRelease: Sent = row('POST /v1/locks/held/force-release');
  const wish = { leaseMs: 10_000, waitMs: 1 };

  const types = ['null', 'true', '"10000"', '[10000]', '{}', '{"valueOf":10000}'];
  const fractions = ['0.5', '-0.5', '1e999', '-1e999', '10.000001'];

  describe('a member', () => {
    test.each(['0', '-1', '-10000', '9', '86400001', '1e15', '9007199254740993', ...fractions, ...types])(
      'leaseMs: %s',
      async (value) => {
        expect(await shop.others('invalid-body', { ...acquire, body: text(wish, '10000', value) })).toEqual(
          [],
        );
        const body = text({ holder: HOLDER, leaseMs: 10_000 }, '10000', value);
        expect(await shop.others('invalid-body', { ...renew, body })).toEqual([]);
      },
    );

    test.each(['-1', '-10000', '30001', '1e15', ...fractions, ...types])('waitMs: %s', async (value) => {
      const body = text(wish, ':1}', `:${value}}`);
      expect(await shop.others('invalid-body', { ...acquire, body })).toEqual([]);
    });

    test.each(['NaN', 'Infinity', '-Infinity', '0x10', '01', 'undefined'])('a number: %s', async (value) => {
      expect(
        await shop.others(
          'malformed-json',
          { ...acquire, body: text(wish, '10000', value) },
          { ...acquire, body: text(wish, ':1}', `:${value}}`) },
        ),
      ).toEqual([]);
    });

    const holders = ['""', '"*"', '"x"', '"a.b.c"', '"{}"', '"a b"', '"\\u0000"', '"\\ud800"', '"☃"'];
    const others = [
      'null',
      '5',
      '[]',
      '{}',
      `["${HOLDER}"]`,
      `"${HOLDER} "`,
      `"${HOLDER}\\n"`,
      '"__proto__"',
    ];
    const nearly = ['"q0-3zLcXb9dTt2Vw.1k.0"', '"q0-3zLcXb9dTt2Vw..1000"', '"q0-3zLcXb9dTt2Vw.1k.*"'];
    holders.push(...others, ...nearly, `"${'x'.repeat(60_000)}"`);

    test.each(holders.map((value) => [value.slice(0, 40), value]))('holder: %s', async (_, value) => {
      for (const sent of [renew, release]) {
        const body = text({ holder: HOLDER }, `"${HOLDER}"`, value);
        expect(await shop.others('invalid-body', { ...sent, body })).toEqual([]);
      }
    });
  });

  describe('a fencing token', () => {
    const whole = ['-1', '1', '999999999999999', '9007199254740992', '9999999999999999', '1e300'];

    test.each([...whole, ...fractions, 'null', 'true', '"1795176000000000"', '[]', '{}'])(
      'of %s',
      async (value) => {
        const body = text({ holder: HOLDER, fencingToken: 7 }, ':7}', `:${value}}`);
        expect(await shop.others('invalid-body', { ...renew, body })).toEqual([]);
        const path = '/v1/semaphores/x/renew';
        expect(await shop.others('invalid-body', { method: 'POST', path, body })).toEqual([]);
      },
    );

    test('of the year 2255 restores nothing', async () => {
      const body = { holder: HOLDER, fencingToken: Number.MAX_SAFE_INTEGER };
      expect(await shop.others('lease-lost', { ...renew, body })).toEqual([]);
      for (const kind of ['locks', 'semaphores']) {
        const path = `/v1/${kind}/never-held`;
        expect(await shop.others('lease-lost', { method: 'POST', path: `${path}/renew`, body })).toEqual([]);
        expect((await shop.send({ path })).status).toBe(200);
      }
    });
  });

  describe('a body', () => {
    test.each<[string, ProblemSlug, Sent['body']]>([
      ['of depth 30,000', 'invalid-body', text(wish, '10000', '['.repeat(30_000) + ']'.repeat(30_000))],
      ['of 70,000 bytes', 'body-too-large', Buffer.alloc(70_000, ' ')],
    ])('%s', async (_, slug, body) => {
      for (const sent of [acquire, renew, release]) {
        expect(await shop.others(slug, { ...sent, ...(body !== undefined && { body }) })).toEqual([]);
      }
    });
  });

  describe('a name', () => {
    const names = [
      '%00',
      'a%20b',
      '%7Bx%7D',
      '%7D',
      '{}',
      'a%0D%0Ab',
      '%E2%98%83',
      '..%2F..',
      '*',
      '%25',
      'a%C2%80',
      // As they are, and as a client would have to write them.
      '.',
      '..',
      '%2e',
      '%2E%2e',
    ];

    test.each([...names, 'x'.repeat(257), 'x'.repeat(10_000)].map((name) => [name.slice(0, 20), name]))(
      '%s',
      async (_, name) => {
        const path = `/v1/locks/${name}`;
        expect(
          await shop.others('invalid-id', { path }, { ...acquire, path: `${path}/acquire`, body: wish }),
        ).toEqual([]);
        for (const act of ['renew', 'release', 'force-release']) {
          const sent = { method: 'POST', path: `${path}/${act}`, body: { holder: HOLDER } };
          expect(await shop.others('invalid-id', sent)).toEqual([]);
        }
      },
    );

    test.each<[string, ProblemSlug, Sent]>([
      ['that is empty', 'unknown-route', { ...acquire, path: '/v1/locks//acquire', body: wish }],
      ['with half of a surrogate pair', 'malformed-url', row('GET /v1/locks/%ED%A0%80')],
      ['with a lone %', 'malformed-url', { ...acquire, path: '/v1/locks/%/acquire', body: wish }],
      ['of nothing that can be done', 'unknown-route', row('POST /v1/locks/held/steal', {})],
      ['with another method', 'method-not-allowed', row('DELETE /v1/locks/held')],
      ['to look at an act', 'method-not-allowed', row('GET /v1/locks/held/acquire')],
    ])('%s', async (_, slug, sent) => {
      expect(await shop.others(slug, sent)).toEqual([]);
    });

    test.each(['__proto__', 'constructor', '...', '.a', 'a..', 'x'.repeat(256)])(
      '%s is one',
      async (name) => {
        const { status, json } = await shop.send(row(`GET /v1/locks/${name}`));
        expect([status, json]).toMatchObject([200, { name, holder: null }]);
      },
    );
  });

  describe('the holder of another lease', () => {
    test.each(['renew', 'release'])('is refused to %s', async (act) => {
      const sent = row(`POST /v1/locks/held/${act}`, { holder: HOLDER });
      expect(await shop.others('lease-lost', sent, { ...sent, path: `/v1/locks/free/${act}` })).toEqual([]);
    });
  });

  describe('a lock that is held', () => {
    test.each([{}, { waitMs: 0 }, { waitMs: 1 }, { leaseMs: 10, waitMs: 20 }])('to %j', async (body) => {
      expect(await shop.ask({ ...acquire, body })).toMatchObject({
        ...refused('lock-timeout'),
        isAnythingChanged: expect.any(Boolean),
      });
    });
  });

  describe('permits', () => {
    const path = '/v1/semaphores/x';
    const permits: Sent = { method: 'POST', path: `${path}/acquire` };
    const wanted = { permits: 7, take: 1, leaseMs: 10_000, waitMs: 1 };

    test.each(['0', '-1', '100001', '1e15', ...fractions, ...types])('permits: %s', async (value) => {
      const sent = { ...permits, body: text(wanted, '7', value) };
      expect(await shop.others('invalid-body', sent)).toEqual([]);
      const put = { method: 'PUT', path, body: text({ permits: 7 }, '7', value) };
      expect(await shop.others('invalid-body', put)).toEqual([]);
    });

    test.each(['0', '-1', '8', '100000', '1e15', ...fractions, ...types])('take: %s', async (value) => {
      const sent = { ...permits, body: text(wanted, ':1,', `:${value},`) };
      expect(await shop.others('invalid-body', sent)).toEqual([]);
    });

    test.each(['0', '-1', '9', '86400001', 'null'])('leaseMs: %s', async (value) => {
      const sent = { ...permits, body: text(wanted, '10000', value) };
      expect(await shop.others('invalid-body', sent)).toEqual([]);
      const body = text({ holder: HOLDER, leaseMs: 10_000 }, '10000', value);
      expect(await shop.others('invalid-body', { method: 'POST', path: `${path}/renew`, body })).toEqual([]);
    });

    test.each(['-1', '30001', 'null'])('waitMs: %s', async (value) => {
      const sent = { ...permits, body: text(wanted, ':1}', `:${value}}`) };
      expect(await shop.others('invalid-body', sent)).toEqual([]);
    });

    test.each<[string, ProblemSlug, Sent]>([
      ['without their number', 'invalid-body', { ...permits, body: { take: 1 } }],
      [
        'of a hostile name',
        'invalid-id',
        { ...permits, path: '/v1/semaphores/%7B%7D/acquire', body: wanted },
      ],
      ['of a hostile name, to look', 'invalid-id', row('GET /v1/semaphores/a%00b')],
      ['of the name ..', 'invalid-id', { ...permits, path: '/v1/semaphores/../acquire', body: wanted }],
      ['of the name ., to look', 'invalid-id', row('GET /v1/semaphores/%2e')],
      [
        'of a long name',
        'invalid-id',
        { method: 'PUT', path: `${path}${'x'.repeat(256)}`, body: { permits: 1 } },
      ],
      [
        'that nobody holds',
        'lease-lost',
        { method: 'POST', path: `${path}/renew`, body: { holder: HOLDER } },
      ],
      [
        'given back by nobody',
        'lease-lost',
        { method: 'POST', path: `${path}/release`, body: { holder: HOLDER } },
      ],
      [
        'of no holder',
        'invalid-body',
        { method: 'POST', path: `${path}/release`, body: { holder: 'x.y.1' } },
      ],
      ['taken away', 'unknown-route', { method: 'POST', path: `${path}/force-release` }],
      ['listed by a pattern', 'invalid-query', row('GET /v1/semaphores?match=*')],
      ['listed from nowhere', 'invalid-cursor', row('GET /v1/semaphores?cursor=x')],
    ])('%s', async (_, slug, sent) => {
      expect(await shop.others(slug, sent)).toEqual([]);
    });
  });

  describe('the list', () => {
    test.each([
      'limit=0',
      'limit=-1',
      'limit=201',
      'limit=1e1',
      'limit=NaN',
      'limit=',
      'limit=5&limit=6',
      'cursor=',
      'cursor=a&cursor=b',
      'match=*',
      `cursor=${'x'.repeat(401)}`,
    ])('%s', async (query) => {
      expect(await shop.others('invalid-query', row(`GET /v1/locks?${query}`))).toEqual([]);
    });

    test.each([
      'x',
      '%00',
      'Kg',
      Buffer.from('- -1').toString('base64url'),
      Buffer.from('- 1 MATCH *').toString('base64url'),
    ])('cursor=%s', async (cursor) => {
      expect(await shop.others('invalid-cursor', row(`GET /v1/locks?cursor=${cursor}`))).toEqual([]);
    });
  });

  test('an operator takes a lock away once', async () => {
    const isReleased = async (): Promise<unknown> => (await shop.send(forceRelease)).json;
    expect([await isReleased(), await isReleased()]).toEqual([{ isReleased: true }, { isReleased: false }]);
  });
}
