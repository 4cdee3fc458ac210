/** A wrong request for files gets a problem of a stable type, and changes nothing. */
import { describe, expect, test } from '@jest/globals';

import { digestOf } from '../fixture/files.js';
import { HOSTILE, others, PLAYER, refuse, refuseEach, send } from '../fixture/refusals.js';

const FILES = '/v1/file-channels/logs/files';
const UPLOAD = `POST ${FILES}?name=a.log`;
const ACK = 'POST /v1/files/logs:1/acks';
const octets = { 'content-type': 'application/octet-stream' };
const ack = { receiver: 'ann', isDone: true };

describe('a file', () => {
  refuseEach('invalid-query', 'the name in a query', HOSTILE.map(encodeURIComponent), (name) => [
    [`GET ${FILES}?receiver=${name}`],
    [`GET /v1/files/logs:1?receiver=${name}`],
    [`GET /v1/files/logs:1/content?receiver=${name}`],
  ]);
  refuseEach('invalid-body', 'the name in a body', HOSTILE, (receiver) => [[ACK, { ...ack, receiver }]]);

  const ids = ['logs', 'logs:', ':1', 'logs:0', 'logs:-1', 'logs:01', 'logs:1.5', 'logs:1e3', '.:1'];
  refuseEach('invalid-id', 'the id', [...ids, 'logs:9999999999999999'], (id) => [
    [`GET /v1/files/${id}`],
    [`GET /v1/files/${id}/content?receiver=ann`],
    [`POST /v1/files/${id}/acks`, ack],
  ]);

  const names = ['..', '../etc/passwd', 'a/../b', '/etc/passwd', 'a//b', 'a/', './a', 'a\\b', ''];
  names.push('a\nb', 'a\u0000', 'a\u001b[2J', 'a\u202egol.exe', 'a\u2028b', '\u200b');
  names.push('x'.repeat(1_025), 'ä'.repeat(513));
  refuseEach('invalid-query', 'the file name', names, (name) => [
    [`POST ${FILES}?name=${encodeURIComponent(name)}`, 'text', octets],
  ]);

  refuseEach('invalid-query', 'the query of POST', ['', '?name=a&name=b', '?name=a&extra=1'], (query) => [
    [`POST ${FILES}${query}`, 'text', octets],
  ]);

  const queries = [
    FILES,
    `${FILES}?receiver=ann&after=-1`,
    `${FILES}?receiver=ann&after=x`,
    `${FILES}?receiver=ann&limit=0`,
    `${FILES}?receiver=ann&limit=201`,
    `${FILES}?receiver=ann&waitMs=30001`,
    `${FILES}?receiver=ann&receiver=ben`,
    '/v1/files/logs:1/content',
    '/v1/files/logs:1/content?receiver=ann&autoAck=maybe',
    '/v1/files/logs:1/content?receiver=ann&waitMs=-1',
    '/v1/files/logs:1/content?receiver=ann&offset=1',
    '/v1/files/logs:1?consumer=ann',
  ];
  refuseEach('invalid-query', 'the query of GET', queries, (path) => [[`GET ${path}`]]);

  refuse('unsupported-media-type', [
    ['an upload without a type', UPLOAD, Buffer.from('text'), { 'content-type': '' }],
    ['an upload of JSON', UPLOAD, Buffer.from('text'), { 'content-type': 'application/json' }],
    [
      'an upload of a form',
      UPLOAD,
      Buffer.from('text'),
      { 'content-type': 'application/x-www-form-urlencoded' },
    ],
    ['an upload of text', UPLOAD, Buffer.from('text'), { 'content-type': 'text/plain' }],
    ['an upload of nonsense', UPLOAD, Buffer.from('text'), { 'content-type': '\u00ff;;;' }],
    ['an upload of gzip', UPLOAD, Buffer.from('text'), { ...octets, 'content-encoding': 'gzip' }],
    ['bytes for a route that takes JSON', ACK, 'text', octets],
    ['bytes for a player', PLAYER, 'text', octets],
  ]);

  const digests = ['sha-256=abc', 'sha-256=::', 'sha-256=:YWJj:', 'sha-512=:YWJj:', 'SHA-256=abcdef'];
  digests.push(`${digestOf('text')},`, `md5=x, ${digestOf('text')}`, `sha-256=:${'A'.repeat(9_000)}:`);
  refuseEach('invalid-digest', 'the Content-Digest', digests, (digest) => [
    [UPLOAD, 'text', { ...octets, 'content-digest': digest }],
  ]);

  refuseEach('invalid-idempotency-key', 'the upload of', ['a b', '', 'x'.repeat(129), '..'], (key) => [
    [UPLOAD, 'text', { ...octets, 'idempotency-key': key }],
  ]);

  test('a head that is too large', async () => {
    const { status, json } = await send(UPLOAD, 'text', {
      ...octets,
      range: `bytes=${'1-2,'.repeat(8_192)}`,
    });
    expect([status, json.type]).toEqual([431, 'https://mortise.dev/problems/headers-too-large']);
  });

  const acks = [
    {},
    { receiver: 'ann' },
    { receiver: 'ann', upTo: 1, isDone: true },
    { receiver: 'ann', upTo: -1 },
    { receiver: 'ann', upTo: 0.5 },
    { receiver: 'ann', upTo: '1' },
    { receiver: 'ann', upTo: 1e300 },
    { receiver: 'ann', isDone: false },
    { receiver: 'ann', isDone: true, extra: 1 },
    { isDone: true },
  ];
  refuseEach('invalid-body', 'the ack', acks, (body) => [[ACK, body]]);

  test('that is unknown, and a channel that is', async () => {
    const unknown = [
      'GET /v1/files/logs:1',
      'GET /v1/files/logs:1/content?receiver=ann',
      'DELETE /v1/files/logs:1',
    ];
    expect(await others('unknown-file', [...unknown.map((target) => [target] as const), [ACK, ack]])).toEqual(
      [],
    );
    expect(await others('unknown-receiver', [[`GET ${FILES}?receiver=ann`]])).toEqual([]);
    expect(await others('no-receivers', [[UPLOAD, 'text', octets]])).toEqual([]);
    expect(await others('method-not-allowed', [['PUT /v1/files/logs:1/content']])).toEqual([]);
  });
});
