/** Uploads that end, break off or are refused, their time, and receivers that come and go. */
import { connect as connectTo } from 'node:net';
import { text as textOf } from 'node:stream/consumers';

import { describe, expect, test } from '@jest/globals';
import { until } from '@mortise/test-kit';

import { Transfers } from '../../src/files/transfers.js';
import { startApi } from '../fixture/api.js';
import { digestOf, MIB, numbered, RemoteChannel } from '../fixture/files.js';
import { api, CHANNEL, EMPTY, left, open, patient, prefix, slug } from './api.js';

describe('an upload', () => {
  test('whose digest is another one is given up: nothing is left of it', async () => {
    const logs = await open('ann');
    const digest = { 'content-digest': digestOf('other') };
    const answer = await logs.upload(numbered(2 * MIB), 'a.log', digest);
    expect([answer.status, slug(answer)]).toEqual([422, 'digest-mismatch']);
    expect(await left(logs)).toEqual(EMPTY);
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
    expect(await left(logs)).toEqual(EMPTY);
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
    expect(await left(logs)).toEqual(EMPTY);
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
    expect(await left(logs)).toEqual(EMPTY);
    // The budget is 8 MiB.
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
    expect(await left(logs)).toEqual(EMPTY);
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
    expect(await left(logs)).toEqual(EMPTY);
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
    slow.write(
      'PUT /v1/market/players/ann HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n',
    );
    slow.write('content-length: 100\r\n\r\n{');
    // One that is refused at once sends the rest no sooner.
    const refused = connectTo(Number(port), hostname);
    refused.write(
      'PUT /v1/market/players/ann HTTP/1.1\r\nhost: evil.example\r\ncontent-length: 100\r\n\r\n{',
    );
    const [answer, refusal] = await Promise.all([textOf(slow), textOf(refused)]);
    expect(answer).toMatch(/^HTTP\/1\.1 408 /);
    expect(refusal).toMatch(/^HTTP\/1\.1 403 /);
    expect((await uploading.end('two')).json).toMatchObject({ bytes: 7 });
  });

  test('ends one that stands still, and a download that nobody takes', async () => {
    const hasty = await startApi({ MORTISE_PREFIX: prefix, STREAM_TIMEOUT_MS: '200' });
    const { channel } = await open('ann');
    const logs = new RemoteChannel(hasty, channel);
    const uploading = logs.begin();
    await uploading.write('one');
    const answer = await uploading.answer;
    expect([answer.status, slug(answer)]).toEqual([408, 'request-timeout']);
    expect(await left(logs)).toEqual(EMPTY);
    // More than the buffers of the connection take.
    const body = numbered(24 * MIB);
    expect((await logs.upload(body)).status).toBe(201);
    const download = await logs.open(2, 'ann');
    download.response.pause();
    await until('the transfer to end', async () => hasty.app.get(Transfers).size === 0);
    download.response.resume();
    expect((await download.ended()).end).toBe('broken');
    expect(download.bytes).toBeLessThan(body.length);
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
    const status = (await api.send({ path: `/v1/file-channels/${logs.channel}` })).json;
    expect(status).toMatchObject({ isEnded: false, listed: 2, receivers: [{}, {}, {}] });
    expect(status.files).toMatchObject([
      { number: 1, pending: 1, slowest: [{ receiver: 'ben', ackedBytes: 0 }] },
      { number: 2, pending: 3, bytes: 3, storedBytes: 19 },
    ]);
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
