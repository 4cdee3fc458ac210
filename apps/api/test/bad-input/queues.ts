/** A wrong request for a queue gets a problem of a stable type at once, and changes nothing. */
import { describe, expect, test } from '@jest/globals';

import type { ProblemSlug } from '../../src/problems/catalogue.js';
import type { Sent } from '../fixture/api.js';
import { refused, text, row } from '../fixture/refusals.js';
import type { Shop } from '../fixture/refusals.js';

export function refuseInQueues(shop: Shop): void {
  const enqueue: Sent = row('POST /v1/queues/mail/tasks');
  const batch: Sent = row('POST /v1/queues/mail/task-batches');
  const claim: Sent = row('POST /v1/queues/mail/claims');
  const configure: Sent = row('PUT /v1/queues/mail');
  const verb = (name: string): Sent => row(`POST /v1/queues/mail/tasks/x/${name}`);
  const task = { name: 't', payload: 1 };
  const LEASE = '0-6f3a21c4';

  const types = ['null', 'true', '"1000"', '[1000]', '{}', '{"valueOf":1000}'];
  const fractions = ['0.5', '-0.5', '1e999', '-1', '1e15'];

  describe('an option of a task', () => {
    const numbers = ['delayMs', 'attempts', 'timeoutMs', 'expiresInMs', 'dedupMs', 'runAt'];
    const cases = numbers.flatMap((option) =>
      [...types, ...fractions].map((value): [string, string] => [option, value]),
    );

    test.each(cases)('%s: %s', async (option, value) => {
      const body = text({ ...task, id: 'x', [option]: '?' }, '"?"', value);
      expect(
        await shop.others('invalid-body', { ...enqueue, body }, { ...batch, body: `{"tasks":[${body}]}` }),
      ).toEqual([]);
    });

    test.each<[string, object]>([
      ['an unknown one', { retries: 3 }],
      ['two instants', { delayMs: 1, runAt: Date.now() + 60_000 }],
      ['an instant past ten years', { runAt: 9e12 }],
      ['dedupMs without an id', { dedupMs: 1_000 }],
      ['a priority that the queue does not have', { priority: 'urgent' }],
      ['a priority that is none', { priority: '' }],
      ['a backoff of another kind', { backoff: { type: 'custom' } }],
      ['a backoff that shrinks', { backoff: { delayMs: 10, maxDelayMs: 5 } }],
      ['jitter of 2', { backoff: { jitter: 2 } }],
      ['headers of numbers', { headers: { a: 1 } }],
      ['headers that are a list', { headers: ['a'] }],
      ['large headers', { headers: { a: 'x'.repeat(16_384) } }],
      ['a long group', { group: 'é'.repeat(513) }],
      ['an empty group', { group: '' }],
      ['an empty name', { name: '' }],
      ['a long name', { name: 'é'.repeat(513) }],
      ['a name that is a number', { name: 5 }],
      ['an id with a space', { id: 'a b' }],
      ['an id with a brace', { id: '}x' }],
      ['the id ..', { id: '..' }],
      ['a long id', { id: 'x'.repeat(129) }],
      ['no attempts', { attempts: 65_536 }],
    ])('%s', async (_, options) => {
      expect(await shop.others('invalid-body', { ...enqueue, body: { ...task, ...options } })).toEqual([]);
    });

    test('no payload', async () => {
      expect(await shop.others('invalid-body', { ...enqueue, body: { name: 't' } })).toEqual([]);
    });
  });

  test.each(['abc', '"a', 'W/a', '"a" "b"', '', '*, "a"'])('the header If-Match %j', async (value) => {
    const asked = { ...configure, headers: { 'if-match': value }, body: {} };
    expect(await shop.others('invalid-if-match', asked)).toEqual([]);
  });

  test('an instant in the past is refused, seconds that were meant as ms as well', async () => {
    for (const runAt of [0, 1_795_176_000, Date.now() - 600_000]) {
      expect(await shop.others('run-at-past', { ...enqueue, body: { ...task, runAt } })).toEqual([]);
    }
  });

  describe('a body', () => {
    const deep = '['.repeat(30_000) + ']'.repeat(30_000);
    const all = [enqueue, batch, claim, configure, verb('complete'), verb('fail'), verb('cancel')];
    all.push(row('POST /v1/queues/mail/drain'), row('POST /v1/queues/mail/clean'));

    test.each<[string, ProblemSlug, Sent['body']]>([
      ['with __proto__ in the payload', 'invalid-body', '{"name":"t","payload":{"__proto__":{"x":1}}}'],
      ['with half of a surrogate pair', 'invalid-body', '{"name":"t","payload":"\\ud800"}'],
      ['of depth 30,000', 'invalid-body', `{"name":"t","payload":${deep}}`],
      ['of 1.1 MB', 'body-too-large', Buffer.alloc(1_100_000, ' ')],
    ])('%s', async (_, slug, body) => {
      for (const sent of all) {
        expect([sent.path, await shop.ask({ ...sent, ...(body !== undefined && { body }) })]).toEqual([
          sent.path,
          refused(slug),
        ]);
      }
    });

    test('of 70,000 bytes, where there is no payload', async () => {
      for (const sent of [claim, configure, verb('fail'), verb('log'), verb('progress')]) {
        expect(await shop.others('body-too-large', { ...sent, body: Buffer.alloc(70_000, ' ') })).toEqual([]);
      }
    });

    test.each([
      { tasks: [] },
      { tasks: {} },
      { tasks: [task, {}] },
      { tasks: Array.from({ length: 1_001 }, () => task) },
      { task },
    ])('batch %#', async (body) => {
      expect(await shop.others('invalid-body', { ...batch, body })).toEqual([]);
    });
  });

  describe('a claim', () => {
    const wish = { limit: 7, waitMs: 1, leaseMs: 10_000 };

    test.each(['0', '101', '1e300', ...types, ...fractions])('limit: %s', async (value) => {
      expect(await shop.others('invalid-body', { ...claim, body: text(wish, ':7', `:${value}`) })).toEqual(
        [],
      );
    });

    test.each(['30001', ...types, ...fractions])('waitMs: %s', async (value) => {
      expect(await shop.others('invalid-body', { ...claim, body: text(wish, ':1,', `:${value},`) })).toEqual(
        [],
      );
    });

    test.each(['999', '3600001', ...types, ...fractions])('leaseMs: %s', async (value) => {
      expect(await shop.others('invalid-body', { ...claim, body: text(wish, '10000', value) })).toEqual([]);
      const body = text({ lease: LEASE, leaseMs: 10_000 }, '10000', value);
      expect(await shop.others('invalid-body', { ...verb('heartbeat'), body })).toEqual([]);
    });
  });

  describe('a lease', () => {
    const others: [string, object][] = [
      ['heartbeat', {}],
      ['complete', {}],
      ['fail', { error: 'x' }],
      ['give-back', {}],
      ['progress', { progress: 1 }],
      ['log', { text: 'x' }],
    ];
    const leases = [
      '',
      'x',
      '0',
      '0-',
      '-1',
      '0-123456789',
      '0-G',
      `${LEASE} `,
      `${LEASE}\n`,
      '☃',
      'x'.repeat(60_000),
    ];

    test.each([...leases, null, 5, [LEASE], {}].map((lease) => [JSON.stringify(lease).slice(0, 40), lease]))(
      'of %s',
      async (_, lease) => {
        for (const [name, body] of others) {
          expect(await shop.others('invalid-body', { ...verb(name), body: { ...body, lease } })).toEqual([]);
        }
      },
    );

    test('of nothing', async () => {
      for (const [name, body] of others) {
        for (const lease of [LEASE, 'ff-1']) {
          const sent = { ...verb(name), body: { ...body, lease } };
          expect([name, await shop.ask(sent)]).toEqual([name, refused('lease-lost')]);
          const unknown = { ...sent, path: sent.path.replace('mail', 'never') };
          expect([name, await shop.ask(unknown)]).toEqual([name, refused('unknown-queue')]);
        }
      }
    });

    test.each<[string, object]>([
      ['complete', { result: 'x'.repeat(262_143) }],
      ['fail', {}],
      ['fail', { error: 5 }],
      ['fail', { error: 'x', delayMs: -1 }],
      ['fail', { error: 'x', isRetried: 'no' }],
      ['give-back', { delayMs: 0.5 }],
      ['progress', {}],
      ['progress', { progress: 'x'.repeat(16_384) }],
      ['log', { text: null }],
      ['log', { text: 'x', level: 'info' }],
    ])('%s of %#', async (name, body) => {
      expect(await shop.others('invalid-body', { ...verb(name), body: { lease: LEASE, ...body } })).toEqual(
        [],
      );
    });
  });

  describe('settings', () => {
    test.each([
      { priorities: [] },
      { priorities: ['a', 'a'] },
      { priorities: ['a b'] },
      { priorities: Array.from({ length: 17 }, (_, n) => `p${n}`) },
      { shards: 0 },
      { shards: 65 },
      { isPaused: 1 },
      { concurrency: 0 },
      { concurrency: '5' },
      { rate: { limit: 1 } },
      { rate: { limit: 1, periodMs: 1, burst: 2 } },
      { rate: [] },
      { groups: { ordered: true } },
      { groups: null },
      { maxTasks: 0 },
      { keepEvents: null },
      { unknown: 1 },
    ])('%j', async (body) => {
      expect(await shop.others('invalid-body', { ...configure, body })).toEqual([]);
    });
  });

  describe('a name', () => {
    const names = [
      '%00',
      'a%20b',
      '%7Bx%7D',
      '{}',
      'a%0D%0Ab',
      '%E2%98%83',
      '..%2F..',
      '*',
      '%25',
      '.',
      '..',
      '%2e',
    ];

    test.each([...names, 'x'.repeat(129), 'x'.repeat(10_000)].map((name) => [name.slice(0, 20), name]))(
      '%s',
      async (_, name) => {
        const path = `/v1/queues/${name}`;
        expect(
          await shop.others(
            'invalid-id',
            { path },
            { ...configure, path, body: {} },
            { ...enqueue, path: `${path}/tasks`, body: task },
            { ...claim, path: `${path}/claims`, body: {} },
            { path: `${path}/tasks?state=ready` },
          ),
        ).toEqual([]);
      },
    );

    test.each<[string, ProblemSlug, Sent]>([
      ['of a task, too long', 'invalid-id', row(`GET /v1/queues/mail/tasks/${'%C3%A9'.repeat(513)}`)],
      ['of a task, not UTF-8', 'malformed-url', row('GET /v1/queues/mail/tasks/%ED%A0%80')],
      [
        'of a task, with a lone %',
        'malformed-url',
        { ...verb('retry'), path: '/v1/queues/mail/tasks/%/retry' },
      ],
      ['of nothing that can be done', 'unknown-route', { ...verb('steal'), body: {} }],
      ['with another method', 'method-not-allowed', row('DELETE /v1/queues/mail')],
      ['to look at an act', 'method-not-allowed', row('GET /v1/queues/mail/claims')],
    ])('%s', async (_, slug, sent) => {
      expect(await shop.others(slug, sent)).toEqual([]);
    });

    test.each(['%00', 'a%0Ab', '%7B%7D', '__proto__', 'constructor', '%F0%9F%98%80', '..%2F..'])(
      'of a task: %s is one',
      async (id) => {
        const path = `/v1/queues/mail/tasks/${id}`;
        expect(
          await shop.others('unknown-task', { path }, { method: 'POST', path: `${path}/promote` }),
        ).toEqual([]);
      },
    );
  });

  describe('the list', () => {
    test.each([
      '',
      'state=',
      'state=lost',
      'state=ready&limit=0',
      'state=ready&limit=201',
      'state=ready&limit=1e1',
    ])('%s', async (query) => {
      expect(await shop.others('invalid-query', row(`GET /v1/queues/mail/tasks?${query}`))).toEqual([]);
    });

    test.each(['state=ready&state=dead', 'state=ready&name=', 'state=ready&match=*', 'state=ready&cursor='])(
      '%s',
      async (query) => {
        expect(await shop.others('invalid-query', row(`GET /v1/queues/mail/tasks?${query}`))).toEqual([]);
      },
    );

    const cursors = [
      '["ready",0,0,"",""]',
      '["dead",0,0,"",""]',
      '["ready",-1,0,"",""]',
      '["ready",0,0,"NaN",""]',
      '{}',
      '[',
    ];

    test.each(['x', '%00', ...cursors.slice(1).map((cursor) => Buffer.from(cursor).toString('base64url'))])(
      'cursor=%s',
      async (cursor) => {
        const path = `/v1/queues/mail/tasks?state=ready&cursor=${cursor}`;
        expect(await shop.others('invalid-cursor', { path })).toEqual([]);
      },
    );

    test.each([
      '{"state":"ready"}',
      '{"state":"dead","limit":0}',
      '{"state":"dead","limit":10001}',
      '{"olderThanMs":1}',
    ])('to be cleaned: %s', async (body) => {
      expect(
        await shop.others('invalid-body', { method: 'POST', path: '/v1/queues/mail/clean', body }),
      ).toEqual([]);
    });
  });
}
