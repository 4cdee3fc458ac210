/** Files over HTTP: uploads, downloads, ranges, acks, receivers that come and go. */
import { connect as connectTo } from 'node:net';
import { text as textOf } from 'node:stream/consumers';

import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { FileReceiver } from '@mortise/messaging/files';
import { connect, freshPrefix } from '@mortise/test-kit';

import { Transfers } from '../src/files/transfers.js';
import type { Api } from './fixture/api.js';
import { startApi } from './fixture/api.js';
import { digestOf, MIB, numbered, RemoteChannel, sha256 } from './fixture/files.js';
import { keysOf, until } from './fixture/redis.js';

const redis = connect();
const prefix = freshPrefix();
/** Gives up soon what stands still. */
let api: Api;
let patient: Api;
let next = 0;

beforeAll(async () => {
  api = await startApi({
    MORTISE_PREFIX: prefix,
    FILE_WINDOW_BYTES: String(4 * MIB),
    FILE_BUDGET_BYTES: String(8 * MIB),
    FILE_TIMEOUT_MS: '300',
    FILE_RESUME_MS: '500',
    STREAM_TIMEOUT_MS: '60000',
  });
  patient = await startApi({
    MORTISE_PREFIX: prefix,
    FILE_WINDOW_BYTES: String(4 * MIB),
    FILE_MAX_BYTES: String(16 * MIB),
    STREAM_TIMEOUT_MS: '60000',
  });
});
afterAll(() => Promise.all([api.app.close(), patient.app.close()]));

/** A channel of its own, with receivers. */
async function open(...receivers: string[]): Promise<RemoteChannel> {
  next += 1;
  const channel = new RemoteChannel(api, `logs-${next}`);
  for (const receiver of receivers) await channel.join(receiver);
  return channel;
}

/** The parts of the keys that are left of a channel, each once. */
async function left({ channel }: RemoteChannel): Promise<string[]> {
  const keys = await keysOf(redis, `${prefix}:messaging:{${channel}[}%]`.replaceAll('[}%]', '*'));
  const own = keys.filter((key) => key.includes(`{${channel}}`) || key.includes(`{${channel}%`));
  return [...new Set(own.map((key) => key.slice(key.indexOf('}:') + 2).split(':')[0]!))].toSorted();
}

const CHANNEL = ['file-channel', 'file-receivers', 'files'];
const slug = ({ json }: { json: { type: string } }): string => json.type.split('/').at(-1)!;

describe('a file', () => {
  test('is sent, listed, read with its digest, acked, and gone', async () => {
    const logs = await open('ann');
    const body = numbered(100_000);
    const sent = await logs.upload(body, 'day/access 1.log', { 'content-digest': digestOf(body) });
    const { id } = sent.json;
    expect(id).toMatch(new RegExp(`^${logs.channel}:[\\w-]{12}:1$`));
    expect([sent.status, sent.headers.location]).toEqual([201, `/v1/files/${id}`]);
    expect((await api.send({ path: sent.headers.location! })).json.sha256).toBe(sha256(body));
    // Of a channel that was forgotten.
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

  test('is read while it is being written, and has its digest behind it', async () => {
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

  test('is listed to who waits, and only behind the number that is known', async () => {
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

test('automatic acks free what was read, and stay behind what may be on its way', async () => {
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
    // Of the whole, not of what was sent.
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

  test('of a file that is being written ends with what is there, and waits at its end', async () => {
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

describe('an upload', () => {
  test('whose digest is another one is given up: nothing is left of it', async () => {
    const logs = await open('ann');
    const digest = { 'content-digest': digestOf('other') };
    const answer = await logs.upload(numbered(2 * MIB), 'a.log', digest);
    expect([answer.status, slug(answer)]).toEqual([422, 'digest-mismatch']);
    expect(await left(logs)).toEqual(['file-channel', 'file-receivers']);
    // The key is free again.
    const keyed = { 'idempotency-key': 'k' };
    expect((await logs.upload('wrong', 'a.log', { ...keyed, ...digest })).status).toBe(422);
    expect((await logs.upload('right', 'a.log', keyed)).json).toMatchObject({ isDuplicate: false, bytes: 5 });
  });

  test('that is given up is reported to receivers that have begun to read it, until they are done', async () => {
    const logs = await open('ann', 'ben');
    const uploading = logs.begin('a.log', { 'content-digest': digestOf('other') });
    await uploading.write('half of it');
    await logs.bytes(1, 10);
    const download = await logs.open(1, 'ann');
    await download.reached(10);
    expect((await uploading.end()).status).toBe(422);
    expect((await download.ended()).end).toBe('broken');
    expect((await logs.list('ben')).json.items).toEqual([]);
    expect((await logs.list('ann')).json.items).toMatchObject([
      { state: 'aborted', reason: 'The body does not match its digest' },
    ]);
    const again = await api.send({ path: logs.pathOf(1, 'ann') });
    expect([again.status, slug(again), again.json.reason]).toEqual([
      409,
      'file-aborted',
      'The body does not match its digest',
    ]);
    await logs.done(1, 'ann');
    expect(await left(logs)).toEqual(['file-channel', 'file-receivers']);
  });

  test('that breaks off is given up', async () => {
    const logs = await open('ann');
    const uploading = logs.begin();
    await uploading.write(numbered(2 * MIB));
    await logs.bytes(1, MIB);
    uploading.cut();
    await until('nothing of it', async () => (await left(logs)).length === 2);
    expect((await logs.list('ann')).json.items).toEqual([]);
  });

  test('that breaks off and has an Idempotency-Key goes on where it was', async () => {
    const logs = await open('ann');
    const key = { 'idempotency-key': 'k' };
    const body = numbered(3 * MIB);
    const uploading = logs.begin('a.log', key);
    await uploading.write(body.subarray(0, 2 * MIB));
    await logs.bytes(1, 2 * MIB);
    uploading.cut();
    await until('the server to see it', async () => api.app.get(Transfers).size === 0);
    const again = await logs.upload(body, 'a.log', { ...key, 'content-digest': digestOf(body) });
    expect([again.status, again.json]).toMatchObject([
      201,
      { number: 1, bytes: 3 * MIB, resumedAt: 2 * MIB },
    ]);
    const { content } = await (await logs.open(1, 'ann')).ended();
    expect(content.equals(body)).toBe(true);
    const third = await logs.upload(body, 'a.log', key);
    expect([third.status, third.json]).toEqual([
      200,
      { id: again.json.id, number: 1, name: 'a.log', isDuplicate: true },
    ]);
  });

  test('that goes on with other content is refused, and given up', async () => {
    const logs = await open('ann');
    const key = { 'idempotency-key': 'k' };
    const uploading = logs.begin('a.log', key);
    await uploading.write('one');
    await logs.bytes(1, 3);
    uploading.cut();
    const other = await logs.upload('two', 'a.log', key);
    expect([other.status, slug(other)]).toEqual([422, 'source-changed']);
    expect(await left(logs)).toEqual(['file-channel', 'file-receivers']);
  });

  test('that breaks off and does not come back is given up when anybody comes by', async () => {
    const logs = await open('ann');
    const uploading = logs.begin('a.log', { 'idempotency-key': 'k' });
    await uploading.write('one');
    await logs.bytes(1, 3);
    const download = await logs.open(1, 'ann');
    await download.reached(3);
    uploading.cut();
    // A reader that follows it learns it too.
    expect((await download.ended()).end).toBe('broken');
    expect((await logs.list('ann')).json.items).toMatchObject([
      { state: 'aborted', reason: 'The upload was lost' },
    ]);
  });

  test('beside another one of the same key is refused', async () => {
    const logs = await open('ann');
    const key = { 'idempotency-key': 'k' };
    const first = logs.begin('a.log', key);
    await first.write('one');
    await logs.bytes(1, 3);
    const second = await logs.upload('one', 'a.log', key);
    expect([second.status, slug(second)]).toEqual([409, 'upload-running']);
    expect((await first.end()).json).toMatchObject({ bytes: 3 });
  });

  test('that nobody reads waits for room, and is refused in the end', async () => {
    const logs = await open('ann');
    const answer = await logs.upload(numbered(6 * MIB));
    expect([answer.status, slug(answer)]).toEqual([507, 'budget-exhausted']);
    expect(await left(logs)).toEqual(['file-channel', 'file-receivers']);
    // Of a budget of 8 MiB.
    const body = numbered(3 * MIB);
    for (const name of ['a', 'b']) expect((await logs.upload(body, name)).status).toBe(201);
    const third = await logs.upload(body, 'c');
    expect([third.status, slug(third)]).toEqual([507, 'budget-exhausted']);
    await logs.done(2, 'ann');
    expect((await logs.upload(body, 'c')).status).toBe(201);
  });

  test('that is small takes little of the budget, whether it says so or not', async () => {
    const logs = await open('ann');
    for (let index = 0; index < 6; index += 1) {
      expect((await logs.upload('small', `said ${index}`)).status).toBe(201);
      expect((await logs.begin(`unsaid ${index}`).end('small')).status).toBe(201);
    }
  });

  test('under the key of another one is refused: another name, another digest, whole or not, read or not', async () => {
    const logs = await open('ann');
    const key = { 'idempotency-key': 'k' };
    const upload = async (
      body: string,
      name: string,
      digest = digestOf(body),
    ): Promise<[number, string?]> => {
      const answer = await logs.upload(body, name, { ...key, 'content-digest': digest });
      return answer.status < 400 ? [answer.status] : [answer.status, slug(answer)];
    };
    const uploading = logs.begin('a.log', key);
    await uploading.write('on');
    await logs.bytes(1, 2);
    uploading.cut();
    await until('the server to see it', async () => api.app.get(Transfers).size === 0);
    expect(await upload('one', 'b.log')).toEqual([422, 'request-reused']);
    expect(await upload('one', 'a.log')).toEqual([201]);
    const others: [string, string][] = [
      ['two', 'a.log'],
      ['one', 'b.log'],
    ];
    for (const isRead of [false, true]) {
      if (isRead) await logs.done(1, 'ann');
      for (const [body, name] of others) expect(await upload(body, name)).toEqual([422, 'request-reused']);
      expect(await upload('one', 'a.log')).toEqual([200]);
    }
    expect(await left(logs)).toEqual([...CHANNEL, 'files-sent']);
  });

  test('that is too large is refused, whether it says so or not', async () => {
    const { channel } = await open('ann');
    const logs = new RemoteChannel(patient, channel);
    const announced = logs.begin('a.log', { 'content-length': String(17 * MIB) });
    const refused = await announced.answer;
    expect([refused.status, slug(refused), refused.json.maxBytes]).toEqual([413, 'body-too-large', 16 * MIB]);
    announced.cut();
    const uploading = logs.begin();
    const reading = (async () => {
      await logs.bytes(1, 1);
      return logs.open(1, 'ann', {}, '&autoAck=true');
    })();
    for (let sent = 0; sent < 18; sent += 1) await uploading.write(numbered(MIB));
    expect(slug(await uploading.answer)).toBe('body-too-large');
    expect((await (await reading).ended()).end).toBe('broken');
    uploading.cut();
    await logs.done(1, 'ann');
    expect(await left(logs)).toEqual(['file-channel', 'file-receivers']);
  });

  test('ends when its file is taken away', async () => {
    const logs = await open('ann');
    const uploading = logs.begin();
    await uploading.write('one');
    await logs.bytes(1, 3);
    expect((await api.send({ method: 'DELETE', path: `/v1/files/${logs.channel}:1` })).status).toBe(204);
    await uploading.write(numbered(2 * MIB));
    const answer = await uploading.end();
    expect([answer.status, slug(answer)]).toEqual([409, 'file-aborted']);
    expect(await left(logs)).toEqual(['file-channel', 'file-receivers']);
    const missing = await api.send({ method: 'DELETE', path: `/v1/files/${logs.channel}:1` });
    expect([missing.status, slug(missing)]).toEqual([404, 'unknown-file']);
  });
});

describe('time', () => {
  test('does not end an upload that goes on, when other requests of its age are cut off', async () => {
    const logs = await open('ann');
    const uploading = new RemoteChannel(patient, logs.channel).begin();
    await uploading.write('one ');
    const { hostname, port } = new URL(patient.url);
    const slow = connectTo(Number(port), hostname);
    slow.write('PUT /v1/market/players/ann HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\n');
    slow.write('content-length: 100\r\n\r\n{');
    const answer = await textOf(slow);
    expect(answer).toMatch(/^HTTP\/1\.1 408 /);
    expect((await uploading.end('two')).json).toMatchObject({ bytes: 7 });
  }, 60_000);

  test('ends one that stands still, and a download that nobody takes', async () => {
    const hasty = await startApi({ MORTISE_PREFIX: prefix, STREAM_TIMEOUT_MS: '200' });
    const { channel } = await open('ann');
    const logs = new RemoteChannel(hasty, channel);
    const uploading = logs.begin();
    await uploading.write('one');
    const answer = await uploading.answer;
    expect([answer.status, slug(answer)]).toEqual([408, 'request-timeout']);
    expect(await left(logs)).toEqual(['file-channel', 'file-receivers']);
    // More than the buffers of the connection take.
    const body = numbered(24 * MIB);
    expect((await logs.upload(body)).status).toBe(201);
    const download = await logs.open(2, 'ann');
    download.response.pause();
    await until('the transfer to end', async () => hasty.app.get(Transfers).size === 0);
    download.response.resume();
    expect((await download.ended()).end).toBe('broken');
    expect(download.bytes).toBeLessThan(body.length);
    await hasty.app.close();
  });

  test('and room for transfers are bounded', async () => {
    const small = await startApi({ MORTISE_PREFIX: prefix, MAX_TRANSFERS: '1' });
    const { channel } = await open('ann');
    const logs = new RemoteChannel(small, channel);
    const uploading = logs.begin();
    await uploading.write('one');
    await logs.bytes(1, 3);
    for (const answer of [await logs.upload('two'), await small.send({ path: logs.pathOf(1, 'ann') })]) {
      expect([answer.status, slug(answer), answer.json.limit]).toEqual([503, 'too-many-transfers', 1]);
      expect(answer.headers['retry-after']).toBe('1');
    }
    expect((await uploading.end()).status).toBe(201);
    expect((await (await logs.open(1, 'ann')).ended()).bytes).toBe(3);
    await small.app.close();
  });
});

describe('receivers', () => {
  test('get what is sent after they have joined, and hold nothing up once they have left', async () => {
    const logs = await open('ann');
    expect([(await logs.join('ann')).status, (await logs.join('ben')).json]).toEqual([
      200,
      { receiver: 'ben', isNew: true },
    ]);
    await logs.upload('one');
    await logs.join('cid');
    await logs.upload('two');
    const numbers = async (receiver: string): Promise<number[]> =>
      (await logs.list(receiver)).json.items.map(({ number }: { number: number }) => number);
    expect([await numbers('ann'), await numbers('ben'), await numbers('cid')]).toEqual([[1, 2], [1, 2], [2]]);
    await logs.done(1, 'ann');
    expect((await logs.look(1)).status).toBe(200);
    expect([(await logs.leave('ben')).status, (await logs.leave('ben')).status]).toEqual([204, 204]);
    expect((await logs.look(1)).status).toBe(404);
    const receivers = (await api.send({ path: `/v1/file-channels/${logs.channel}/receivers` })).json;
    expect(receivers.items).toEqual([
      { receiver: 'ann', isActive: true },
      { receiver: 'cid', isActive: true },
    ]);
    const gone = await logs.list('ben');
    expect([gone.status, slug(gone)]).toEqual([404, 'unknown-receiver']);
  });

  test('are needed', async () => {
    const logs = await open();
    const answer = await logs.upload('one');
    expect([answer.status, slug(answer)]).toEqual([409, 'no-receivers']);
    expect(await left(logs)).toEqual([]);
  });

  test('that leave let an upload go on that waits for them', async () => {
    const logs = await open('ann', 'ben');
    const body = numbered(6 * MIB);
    const uploading = new RemoteChannel(patient, logs.channel).begin();
    const sending = uploading.end(body);
    const download = await logs
      .list('ann', '&waitMs=30000')
      .then(() => logs.open(1, 'ann', {}, '&autoAck=true'));
    await download.reached(3 * MIB);
    await logs.leave('ben');
    await download.ended();
    expect([(await sending).status, download.content.equals(body)]).toEqual([201, true]);
  });

  test('of an ended channel learn that it has ended', async () => {
    const logs = await open('ann');
    await logs.upload('one');
    const path = `/v1/file-channels/${logs.channel}/end`;
    expect((await api.send({ method: 'POST', path })).status).toBe(204);
    expect((await logs.list('ann')).json).toMatchObject({ items: [{ number: 1 }], isEnded: false });
    const more = await logs.upload('two');
    expect([more.status, slug(more)]).toEqual([409, 'channel-ended']);
    await logs.done(1, 'ann');
    expect((await logs.list('ann')).json).toEqual({ items: [], isEnded: true });
    const late = await logs.join('ben');
    expect([late.status, slug(late)]).toEqual([409, 'channel-ended']);
  });
});
