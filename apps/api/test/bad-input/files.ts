/** A wrong request for files gets a problem of a stable type, and changes nothing. */
import { expect, test } from '@jest/globals';

import type { Sent } from '../fixture/api.js';
import { digestOf } from '../fixture/files.js';
import { HOSTILE, row } from '../fixture/refusals.js';
import type { Shop } from '../fixture/refusals.js';

export function refuseInFiles(shop: Shop): void {
  const octets = { 'content-type': 'application/octet-stream' };
  const upload: Sent = {
    method: 'POST',
    path: '/v1/file-channels/logs/files?name=a.log',
    headers: octets,
    body: 'text',
  };
  const ack: Sent = row('POST /v1/files/logs:1/acks', { receiver: 'ann', isDone: true });

  test.each(HOSTILE)('the name %j in a query and in a body', async (name) => {
    const query = encodeURIComponent(name);
    for (const path of [
      `/v1/file-channels/logs/files?receiver=${query}`,
      `/v1/files/logs:1?receiver=${query}`,
      `/v1/files/logs:1/content?receiver=${query}`,
    ])
      expect(await shop.others('invalid-query', { path })).toEqual([]);
    const body = { receiver: name, isDone: true };
    expect(await shop.others('invalid-body', { ...ack, body })).toEqual([]);
  });

  test.each([
    'logs',
    'logs:',
    ':1',
    'logs:0',
    'logs:-1',
    'logs:01',
    'logs:1.5',
    'logs:1e3',
    'logs:9999999999999999',
    '%20:1',
  ])('the id %j', async (id) => {
    expect(
      await shop.others(
        'invalid-id',
        row(`GET /v1/files/${id}`),
        row(`GET /v1/files/${id}/content?receiver=ann`),
        { ...ack, path: `/v1/files/${id}/acks` },
      ),
    ).toEqual([]);
  });

  test.each([
    '..',
    '../etc/passwd',
    'a/../b',
    '/etc/passwd',
    'a//b',
    'a/',
    './a',
    'a\\b',
    'a\nb',
    'a\u0000',
    'a\u001b[2J',
    'a\u202egol.exe',
    'a\u2028b',
    '\u200b',
    '',
    'x'.repeat(1_025),
    'ä'.repeat(513),
  ])('the name of a file %j', async (name) => {
    const path = `/v1/file-channels/logs/files?name=${encodeURIComponent(name)}`;
    expect(await shop.others('invalid-query', { ...upload, path })).toEqual([]);
  });

  test.each([
    '/v1/file-channels/logs/files',
    '/v1/file-channels/logs/files?name=a&name=b',
    '/v1/file-channels/logs/files?name=a&extra=1',
  ])('the query of POST %s', async (path) => {
    expect(await shop.others('invalid-query', { ...upload, path })).toEqual([]);
  });

  test.each([
    '/v1/file-channels/logs/files',
    '/v1/file-channels/logs/files?receiver=ann&after=-1',
    '/v1/file-channels/logs/files?receiver=ann&after=x',
    '/v1/file-channels/logs/files?receiver=ann&limit=0',
    '/v1/file-channels/logs/files?receiver=ann&limit=201',
    '/v1/file-channels/logs/files?receiver=ann&waitMs=30001',
    '/v1/file-channels/logs/files?receiver=ann&receiver=ben',
    '/v1/files/logs:1/content',
    '/v1/files/logs:1/content?receiver=ann&autoAck=maybe',
    '/v1/files/logs:1/content?receiver=ann&waitMs=-1',
    '/v1/files/logs:1/content?receiver=ann&offset=1',
    '/v1/files/logs:1?consumer=ann',
  ])('the query of GET %s', async (path) => {
    expect(await shop.others('invalid-query', { path })).toEqual([]);
  });

  test.each<[string, Record<string, string>]>([
    ['none', {}],
    ['JSON', { 'content-type': 'application/json' }],
    ['a form', { 'content-type': 'application/x-www-form-urlencoded' }],
    ['text', { 'content-type': 'text/plain' }],
    ['nonsense', { 'content-type': '\u00ff;;;' }],
    ['gzip', { ...octets, 'content-encoding': 'gzip' }],
  ])('an upload of the type %s', async (_, headers) => {
    const sent = { ...upload, headers, body: Buffer.from('text') };
    if (!('content-type' in headers)) Object.assign(sent, { headers: { 'content-type': '' } });
    expect(await shop.others('unsupported-media-type', sent)).toEqual([]);
  });

  test('bytes for a route that takes JSON', async () => {
    expect(await shop.others('unsupported-media-type', { ...ack, headers: octets, body: 'text' })).toEqual(
      [],
    );
    const player = { method: 'PUT', path: '/v1/market/players/new', headers: octets, body: 'text' };
    expect(await shop.others('unsupported-media-type', player)).toEqual([]);
  });

  test.each([
    'sha-256=abc',
    'sha-256=::',
    'sha-256=:YWJj:',
    'sha-512=:YWJj:',
    `${digestOf('text')},`,
    `md5=x, ${digestOf('text')}`,
    `sha-256=:${'A'.repeat(9_000)}:`,
    'SHA-256=abcdef',
  ])('the Content-Digest %j', async (digest) => {
    const headers = { ...octets, 'content-digest': digest };
    expect(await shop.others('invalid-digest', { ...upload, headers })).toEqual([]);
  });

  test.each(['a b', '', 'x'.repeat(129), '..'])('the Idempotency-Key %j', async (key) => {
    const headers = { ...octets, 'idempotency-key': key };
    expect(await shop.others('invalid-idempotency-key', { ...upload, headers })).toEqual([]);
  });

  test('a head that is too large', async () => {
    const headers = { ...octets, range: `bytes=${'1-2,'.repeat(8_192)}` };
    const { status, json } = await shop.send({ ...upload, headers });
    expect([status, json.type]).toEqual([431, 'https://mortise.dev/problems/headers-too-large']);
  });

  test.each([
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
  ])('the ack %j', async (body) => {
    expect(await shop.others('invalid-body', { ...ack, body })).toEqual([]);
  });

  test('unknown files and channels', async () => {
    expect(
      await shop.others(
        'unknown-file',
        row('GET /v1/files/logs:1'),
        row('GET /v1/files/logs:1/content?receiver=ann'),
        ack,
        row('DELETE /v1/files/logs:1'),
      ),
    ).toEqual([]);
    expect(
      await shop.others('unknown-receiver', row('GET /v1/file-channels/logs/files?receiver=ann')),
    ).toEqual([]);
    expect(await shop.others('no-receivers', upload)).toEqual([]);
  });

  test('another method', async () => {
    expect(await shop.others('method-not-allowed', row('PUT /v1/files/logs:1/content'))).toEqual([]);
  });
}
