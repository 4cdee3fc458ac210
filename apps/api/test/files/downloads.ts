/** Files that are sent, listed, read whole and by ranges, and acked. */
import { beforeAll, describe, expect, test } from '@jest/globals';
import { FileReceiver } from '@mortise/messaging/files';

import { digestOf, MIB, numbered, sha256 } from '../fixture/files.js';
import type { RemoteChannel } from '../fixture/files.js';
import { api, CHANNEL, left, open, prefix, redis, slug } from './api.js';

describe('a file', () => {
  test('is sent, listed, read with its digest, acked, and gone', async () => {
    const logs = await open('ann');
    const body = numbered(100_000);
    const sent = await logs.upload(body, 'day/access 1.log', { 'content-digest': digestOf(body) });
    const { id } = sent.json;
    expect(sent).toMatchObject({ status: 201 });
    expect(id).toMatch(new RegExp(`^${logs.channel}:[\\w-]{12}:1$`));
    expect([sent.status, sent.headers.location]).toEqual([201, `/v1/files/${id}`]);
    expect((await api.send({ path: sent.headers.location! })).json.sha256).toBe(sha256(body));
    // The id names a forgotten channel.
    const old = await api.send({ path: `/v1/files/${logs.channel}:${'x'.repeat(12)}:1` });
    expect([old.status, slug(old)]).toEqual([404, 'unknown-file']);
    expect(sent.json).toEqual({
      id,
      number: 1,
      name: 'day/access 1.log',
      isDuplicate: false,
      bytes: 100_000,
      sha256: sha256(body),
      resumedAt: 0,
    });
    const file = {
      id,
      number: 1,
      name: 'day/access 1.log',
      state: 'closed',
      bytes: 100_000,
      sha256: sha256(body),
      listedAt: expect.any(Number),
    };
    expect((await logs.list('ann')).json).toEqual({ items: [file], isEnded: false });
    expect((await logs.look(1, 'ann')).json).toEqual({ ...file, ackedBytes: 0 });
    const { response, content, end } = await (await logs.open(1, 'ann')).ended();
    expect([response.statusCode, content.equals(body), end]).toEqual([200, true, 'whole']);
    expect(response.headers).toMatchObject({
      'content-type': 'application/octet-stream',
      'content-length': '100000',
      'content-digest': digestOf(body),
      'repr-digest': digestOf(body),
      'content-disposition': "attachment; filename*=UTF-8''access%201.log",
      'accept-ranges': 'bytes',
      etag: `"${sha256(body)}"`,
      'x-content-type-options': 'nosniff',
    });
    // Reading moves nothing.
    expect((await logs.look(1, 'ann')).json.ackedBytes).toBe(0);
    expect((await logs.done(1, 'ann')).status).toBe(204);
    expect((await logs.done(1, 'ann')).status).toBe(204);
    expect((await logs.list('ann')).json.items).toEqual([]);
    expect(await left(logs)).toEqual(CHANNEL);
    const gone = await api.send({ path: logs.pathOf(1, 'ann') });
    expect([gone.status, slug(gone)]).toEqual([404, 'unknown-file']);
  });

  test('may be empty', async () => {
    const logs = await open('ann');
    expect((await logs.upload('', 'empty', { 'content-digest': digestOf('') })).json).toMatchObject({
      bytes: 0,
    });
    const { response, content } = await (await logs.open(1, 'ann')).ended();
    expect([response.statusCode, content.length, response.headers['content-length']]).toEqual([200, 0, '0']);
    const range = await api.send({ path: logs.pathOf(1, 'ann'), headers: { range: 'bytes=0-' } });
    expect([range.status, slug(range)]).toEqual([416, 'range-not-satisfiable']);
  });

  test('is answered to HEAD without its content', async () => {
    const logs = await open('ann');
    await logs.upload('hello');
    const { status, headers, text } = await api.send({ method: 'HEAD', path: logs.pathOf(1, 'ann') });
    expect([status, headers['content-length'], headers['content-digest'], text]).toEqual([
      200,
      '5',
      digestOf('hello'),
      '',
    ]);
  });

  test('is read while it is being written, and its digest follows it', async () => {
    const logs = await open('ann');
    const uploading = logs.begin();
    await uploading.write('one ');
    const waiting = await logs.list('ann', '&waitMs=30000');
    expect(waiting.json.items).toMatchObject([{ number: 1, state: 'open' }]);
    const download = await logs.open(1, 'ann');
    await download.reached(4);
    expect(download.response.headers).not.toHaveProperty('content-length');
    await uploading.write('two ');
    await download.reached(8);
    expect((await uploading.end('three')).status).toBe(201);
    await download.ended();
    expect([download.end, download.content.toString()]).toEqual(['whole', 'one two three']);
    expect(download.response.trailers).toEqual({ 'repr-digest': digestOf('one two three') });
  });

  test('a waiting list request gets the new file; `after` leaves out earlier files', async () => {
    const logs = await open('ann');
    const waiting = logs.list('ann', '&waitMs=30000');
    await logs.upload('one');
    expect((await waiting).json.items).toMatchObject([{ number: 1 }]);
    const behind = logs.list('ann', '&after=1&waitMs=30000');
    await logs.upload('two');
    expect((await behind).json.items).toMatchObject([{ number: 2 }]);
    expect((await logs.list('ann', '&limit=1')).json.items).toMatchObject([{ number: 1 }]);
    expect((await logs.list('ann', '&after=2')).json.items).toEqual([]);
  });

  test('of a program that uses the package, and to one', async () => {
    const logs = await open('ann');
    await logs.upload('line 1\nline 2\n');
    const receiver = new FileReceiver(redis, logs.channel, 'ann', { prefix });
    const lines: string[] = [];
    for await (const file of receiver.files()) {
      for await (const line of file.lines()) lines.push(line);
      const busy = await logs.list('ann');
      expect([busy.status, slug(busy), busy.json.retryAfterMs > 0]).toEqual([409, 'receiver-busy', true]);
      await file.done();
      break;
    }
    expect(lines).toEqual(['line 1', 'line 2']);
    expect((await logs.list('ann')).json.items).toEqual([]);
  });
});

test('automatic acks free the read bytes, but none that may still be on their way', async () => {
  const logs = await open('ann');
  const body = numbered(3 * MIB);
  await logs.upload(body);
  const download = await (await logs.open(1, 'ann', {}, '&autoAck=true')).ended();
  expect(download.content.equals(body)).toBe(true);
  const { ackedBytes } = (await logs.look(1, 'ann')).json;
  // A quarter of the window.
  expect(ackedBytes).toBeGreaterThan(MIB);
  expect(ackedBytes).toBeLessThanOrEqual(2 * MIB);
  // A receiver that lost data in transit gets it again.
  const rest = await (await logs.open(1, 'ann', { range: `bytes=${2 * MIB}-` })).ended();
  expect(rest.content.equals(body.subarray(2 * MIB))).toBe(true);
});

describe('a range', () => {
  const body = numbered(3 * MIB);
  let logs: RemoteChannel;

  beforeAll(async () => {
    logs = await open('ann');
    await logs.upload(body);
  });

  test.each([
    ['bytes=0-0', 0, 1],
    ['bytes=0-', 0, body.length],
    ['bytes=1-9', 1, 10],
    ['Bytes = 7-7', 7, 8],
    [`bytes=${MIB - 100}-${MIB + 99}`, MIB - 100, MIB + 100],
    [`bytes=${2 * MIB}-`, 2 * MIB, body.length],
    [`bytes=10-${body.length * 9}`, 10, body.length],
    ['bytes=0-99999999999999999999', 0, body.length],
    [`bytes=10-${'9'.repeat(400)}`, 10, body.length],
    ['bytes=-99999999999999999999', 0, body.length],
    ['bytes=-5', body.length - 5, body.length],
    [`bytes=-${body.length * 2}`, 0, body.length],
    [`bytes=${body.length - 1}-`, body.length - 1, body.length],
  ])('%s', async (range, from, end) => {
    const { response, content } = await (await logs.open(1, 'ann', { range })).ended();
    expect([
      response.statusCode,
      response.headers['content-range'],
      response.headers['content-length'],
    ]).toEqual([206, `bytes ${from}-${end - 1}/${body.length}`, String(end - from)]);
    expect(content.equals(body.subarray(from, end))).toBe(true);
    // The digest is that of the whole file, not of the sent range.
    expect(response.headers['repr-digest']).toBe(digestOf(body));
    expect(response.headers).not.toHaveProperty('content-digest');
  });

  test.each([
    `bytes=${body.length}-`,
    'bytes=-0',
    'bytes=9-1',
    'bytes=-',
    'bytes=',
    'bytes=a-b',
    'bytes=-5-10',
    'bytes=--5',
    'bytes=1.5-2',
    'bytes=0x1-',
    'bytes=99999999999999999999-',
    'bytes=0-1,',
    'bytes=0-1,9-2',
  ])('%s is refused', async (range) => {
    const answer = await api.send({ path: logs.pathOf(1, 'ann'), headers: { range } });
    expect([answer.status, slug(answer)]).toEqual([416, 'range-not-satisfiable']);
    expect(answer.headers['content-type']).toMatch(/^application\/problem\+json/);
  });

  test.each(['bytes=0-1,5-9', 'lines=1-2', 'none'])('%s is not heeded: all of it comes', async (range) => {
    const { response, bytes } = await (await logs.open(1, 'ann', { range })).ended();
    expect([response.statusCode, bytes]).toEqual([200, body.length]);
  });

  test('comes if the file is still the one of If-Range, else all of it', async () => {
    const range = 'bytes=0-1';
    const same = await logs.open(1, 'ann', { range, 'if-range': `"${sha256(body)}"` });
    const other = await logs.open(1, 'ann', { range, 'if-range': '"other"' });
    expect([same.response.statusCode, other.response.statusCode]).toEqual([206, 200]);
    await Promise.all([same.ended(), other.ended()]);
  });

  test('that was freed is not there, and the rest is', async () => {
    const freed = await open('ann', 'ben');
    await freed.upload(body);
    const half = 2 * MIB + 5;
    expect((await freed.ack(1, 'ann', { upTo: half })).status).toBe(204);
    expect((await freed.look(1, 'ann')).json.ackedBytes).toBe(half);
    // Ben has it still, so it is there for both.
    const whole = await (await freed.open(1, 'ann')).ended();
    expect(whole.bytes).toBe(body.length);
    await freed.ack(1, 'ben', { upTo: half });
    const answer = await api.send({ path: freed.pathOf(1, 'ann') });
    expect([answer.status, slug(answer)]).toEqual([410, 'file-expired']);
    const rest = await (await freed.open(1, 'ann', { range: `bytes=${half}-` })).ended();
    expect(rest.content.equals(body.subarray(half))).toBe(true);
    // An ack never goes back.
    await freed.ack(1, 'ann', { upTo: 5 });
    expect((await freed.look(1, 'ann')).json.ackedBytes).toBe(half);
  });

  test('a download of an open file ends with the stored bytes; a later one waits for more', async () => {
    const growing = await open('ann');
    const uploading = growing.begin();
    await uploading.write('0123456789');
    await growing.bytes(1, 10);
    const part = await (await growing.open(1, 'ann', { range: 'bytes=4-' })).ended();
    expect([part.response.headers['content-range'], part.content.toString()]).toEqual([
      'bytes 4-9/*',
      '456789',
    ]);
    for (const range of ['bytes=10-', 'bytes=11-', 'bytes=-3']) {
      const early = await api.send({ path: growing.pathOf(1, 'ann'), headers: { range } });
      expect([early.status, early.json]).toMatchObject([416, { state: 'open', bytes: 10 }]);
    }
    const waiting = growing.open(1, 'ann', { range: 'bytes=10-' }, '&waitMs=30000');
    await uploading.write('abc');
    const more = await (await waiting).ended();
    expect([more.response.headers['content-range'], more.content.toString()]).toEqual([
      'bytes 10-12/*',
      'abc',
    ]);
    const last = growing.open(1, 'ann', { range: 'bytes=13-' }, '&waitMs=30000');
    await uploading.end();
    expect((await (await last).ended()).response.statusCode).toBe(416);
  });
});
