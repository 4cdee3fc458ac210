/** A wrong request for a queue gets a problem of a stable type at once, and changes nothing. */
import { describe, expect, test } from '@jest/globals';

import type { Row } from '../fixture/api.js';
import { others, refuse, refuseEach, text } from '../fixture/refusals.js';

const QUEUE = '/v1/queues/mail';
const ENQUEUE = `POST ${QUEUE}/tasks`;
const BATCH = `POST ${QUEUE}/task-batches`;
const CLAIM = `POST ${QUEUE}/claims`;
const CONFIGURE = `PUT ${QUEUE}`;
const CLEAN = `POST ${QUEUE}/clean`;
const verb = (name: string, method = 'POST'): string => `${method} ${QUEUE}/tasks/x/${name}`;
const task = { name: 't', payload: 1 };
const LEASE = '0-6f3a21c4';

const types = ['null', 'true', '"1000"', '[1000]', '{}', '{"valueOf":1000}'];
const fractions = ['0.5', '-0.5', '1e999', '-1', '1e15'];

describe('an option of a task', () => {
  const numbers = ['delayMs', 'attempts', 'timeoutMs', 'expiresInMs', 'dedupMs', 'runAt'];
  const cases = numbers.flatMap((option) =>
    [...types, ...fractions].map((value) => [option, value] as const),
  );
  refuseEach('invalid-body', 'the number', cases, ([option, value]) => {
    const body = text({ ...task, id: 'x', [option]: '?' }, '"?"', value);
    return [
      [ENQUEUE, body],
      [BATCH, `{"tasks":[${body}]}`],
    ];
  });

  const wrong: [string, object][] = [
    ['an unknown one', { retries: 3 }],
    ['an expiry before the start', { delayMs: 1_000, expiresInMs: 1_000 }],
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
    ['the id .', { id: '.' }],
    ['the id ..', { id: '..' }],
    ['a long id', { id: 'x'.repeat(1_025) }],
    ['too many attempts', { attempts: 65_536 }],
    ['no payload', { payload: undefined }],
  ];
  refuse(
    'invalid-body',
    wrong.map(([what, options]) => [what, ENQUEUE, { ...task, ...options }] as const),
  );

  // Seconds that were meant as ms, as well.
  const past = [0, 1_795_176_000, Date.now() - 600_000];
  refuseEach('run-at-past', 'the instant', past, (runAt) => [[ENQUEUE, { ...task, runAt }]]);
});

describe('a body', () => {
  const all = [ENQUEUE, BATCH, CLAIM, CONFIGURE, CLEAN, `POST ${QUEUE}/drain`];
  all.push(verb('complete'), verb('fail'), verb('cancel'));
  const deep = '['.repeat(30_000) + ']'.repeat(30_000);
  // With __proto__, with half of a surrogate pair, and of depth 30,000.
  const payloads = ['{"__proto__":{"x":1}}', '"\\ud800"', deep];
  refuseEach('invalid-body', 'the payload', payloads, (payload) =>
    all.map((target) => [target, `{"name":"t","payload":${payload}}`]),
  );

  test('of 1.1 MB, and of 70,000 bytes where there is no payload', async () => {
    const large = all.map((target): Row => [target, Buffer.alloc(1_100_000, ' ')]);
    for (const target of [CLAIM, CONFIGURE, verb('fail'), verb('log'), verb('progress')])
      large.push([target, Buffer.alloc(70_000, ' ')]);
    expect(await others('body-too-large', large)).toEqual([]);
  });

  const tooMany = Array.from({ length: 1_001 }, () => task);
  const batches = [{ tasks: [] }, { tasks: {} }, { tasks: [task, {}] }, { tasks: tooMany }, { task }];
  refuseEach('invalid-body', 'the batch', batches, (body) => [[BATCH, body]]);

  const toClean = ['{"state":"ready"}', '{"state":"dead","limit":0}', '{"state":"dead","limit":10001}'];
  refuseEach('invalid-body', 'to be cleaned', [...toClean, '{"olderThanMs":1}'], (body) => [[CLEAN, body]]);
});

describe('a claim', () => {
  const wish = { limit: 7, waitMs: 1, leaseMs: 10_000 };
  refuseEach('invalid-body', 'limit', ['0', '101', '1e300', ...types, ...fractions], (value) => [
    [CLAIM, text(wish, ':7', `:${value}`)],
  ]);
  refuseEach('invalid-body', 'waitMs', ['30001', '{"toString":1}', ...types, ...fractions], (value) => [
    [CLAIM, text(wish, ':1,', `:${value},`)],
  ]);
  refuseEach('invalid-body', 'leaseMs', ['999', '3600001', ...types, ...fractions], (value) => [
    [CLAIM, text(wish, '10000', value)],
    [verb('heartbeat'), text({ lease: LEASE, leaseMs: 10_000 }, '10000', value)],
  ]);
});

describe('a lease', () => {
  const bodies: [string, object][] = [
    [verb('heartbeat'), {}],
    [verb('complete'), {}],
    [verb('fail'), { error: 'x' }],
    [verb('give-back'), {}],
    [verb('progress'), { progress: 1 }],
    [verb('log'), { text: 'x' }],
    [verb('steps'), { name: 's' }],
    [verb('cursor', 'PUT'), { cursor: 1 }],
    [verb('wait'), { step: 's', event: 'e', timeoutMs: 1 }],
  ];
  const texts = [
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
  refuseEach('invalid-body', 'the lease', [...texts, null, 5, [LEASE], {}], (lease) =>
    bodies.map(([target, body]) => [target, { ...body, lease }]),
  );

  test('of nothing', async () => {
    const leases = [LEASE, 'ff-1'];
    const rows = bodies.flatMap(([target, body]) => leases.map((lease): Row => [target, { ...body, lease }]));
    expect(await others('lease-lost', rows)).toEqual([]);
    const elsewhere = rows.map(([target, body]): Row => [target.replace('mail', 'never'), body]);
    expect(await others('unknown-queue', elsewhere)).toEqual([]);
  });

  const wrong: [string, object][] = [
    ['complete', { result: 'x'.repeat(262_143) }],
    ['fail', {}],
    ['fail', { error: 5 }],
    ['fail', { error: 'x', delayMs: -1 }],
    ['fail', { error: 'x', isRetried: 'no' }],
    ['give-back', { delayMs: 0.5 }],
    ['progress', {}],
    ['progress', { progress: 'x'.repeat(16_384) }],
    ['log', { text: null }],
    ['steps', {}],
    ['steps', { name: '' }],
    ['steps', { name: 's', result: 'x'.repeat(262_143) }],
    ['wait', { step: 's', event: 'e' }],
    ['wait', { step: 's', event: 'x'.repeat(257), timeoutMs: 1 }],
    ['wait', { step: 's', event: 'e', timeoutMs: -1 }],
    ['log', { text: 'x', level: 'info' }],
  ];
  refuseEach('invalid-body', 'the end', wrong, ([name, body]) => [[verb(name), { lease: LEASE, ...body }]]);
});

describe('settings', () => {
  const settings = [
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
  ];
  refuseEach('invalid-body', 'the settings', settings, (body) => [[CONFIGURE, body]]);

  const tags = ['abc', '"a', 'W/a', '"a" "b"', '', '*, "a"'];
  refuseEach('invalid-if-match', 'the header If-Match', tags, (tag) => [
    [CONFIGURE, {}, { 'if-match': tag }],
  ]);
});

describe('an address', () => {
  const names = ['.', '..', '%2e', 'x'.repeat(1_025), 'x'.repeat(10_000)];
  refuseEach('invalid-id', 'the queue', names, (name) => [
    [`GET /v1/queues/${name}`],
    [`PUT /v1/queues/${name}`, {}],
    [`POST /v1/queues/${name}/tasks`, task],
    [`POST /v1/queues/${name}/claims`, {}],
    [`GET /v1/queues/${name}/tasks?state=ready`],
  ]);

  refuse('invalid-id', [['of a task, too long', `GET ${QUEUE}/tasks/${'%C3%A9'.repeat(513)}`]]);
  refuse('malformed-url', [
    ['of a task, not UTF-8', `GET ${QUEUE}/tasks/%ED%A0%80`],
    ['of a task, with a lone %', `POST ${QUEUE}/tasks/%/retry`],
  ]);
  refuse('invalid-query', [['to be removed, unclear', `DELETE ${QUEUE}?isForced=maybe`]]);
  refuse('unknown-route', [['of nothing that can be done', verb('steal'), {}]]);
  refuse('method-not-allowed', [
    ['with another method', `PATCH ${QUEUE}`],
    ['to look at an act', `GET ${QUEUE}/claims`],
  ]);

  const tasks = ['%00', 'a%0Ab', '%7B%7D', '__proto__', 'constructor', '%F0%9F%98%80', '..%2F..'];
  refuseEach('unknown-task', 'the task', tasks, (id) => [
    [`GET ${QUEUE}/tasks/${id}`],
    [`POST ${QUEUE}/tasks/${id}/promote`],
  ]);
});

describe('the list', () => {
  const queries = ['', 'state=', 'state=lost', 'state=ready&state=dead'];
  for (const wrong of ['limit=0', 'limit=201', 'limit=1e1', 'name=', 'match=*', 'cursor='])
    queries.push(`state=ready&${wrong}`);
  refuseEach('invalid-query', 'the query', queries, (query) => [[`GET ${QUEUE}/tasks?${query}`]]);

  const positions = ['["dead",0,0,"",""]', '["ready",-1,0,"",""]', '["ready",0,0,"NaN",""]', '{}', '['];
  const cursors = ['x', '%00', ...positions.map((cursor) => Buffer.from(cursor).toString('base64url'))];
  refuseEach('invalid-cursor', 'the cursor', cursors, (cursor) => [
    [`GET ${QUEUE}/tasks?state=ready&cursor=${cursor}`],
  ]);
});

describe('an event', () => {
  const events = [
    {},
    { event: '' },
    { event: 5 },
    { event: 'x'.repeat(257) },
    { event: 'e', id: '' },
    { event: 'e', payload: 'x'.repeat(65_535) },
    { event: 'e', taskId: 'x' },
  ];
  refuseEach('invalid-body', 'of a task', events, (body) => [[verb('events'), body]]);
});
