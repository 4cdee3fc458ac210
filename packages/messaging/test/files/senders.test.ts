/** Two senders of the same file, one of which is held up at any of its steps while the other one sends it: nothing is left behind. */
import { PassThrough, Readable } from 'node:stream';
import { expect, test } from '@jest/globals';
import { FileChannel } from '@mortise/messaging/files';
import type { SentFile } from '@mortise/messaging/files';
import { connect } from '@mortise/test-kit';
import { Channel, lines, readAll } from './fixture.js';
import { DeathError, slowlyAfter, stepwise } from '../fixture/stepwise-client.js';

const redis = connect();
// Its own connection, so that only its commands wait.
const other = connect();

test.each([1, 2, 3, 4, 5, 6, 7, 8])(
  'a sender that stops after step %i finds the file sent, and leaves nothing',
  async (steps) => {
    const channel = new Channel(redis);
    const text = lines(100);
    const { slow, release } = slowlyAfter(other, steps);
    const late = channel.sender({}, slow).send(Readable.from([text]), { name: 'a', id: 'a' });
    late.catch(() => undefined);
    const sender = channel.sender();
    const reading = readAll(channel.receiver());
    await sender.send(Readable.from([text]), { name: 'a', id: 'a' });
    await sender.end();
    expect(await reading).toEqual({ a: text });
    await sender.received();
    release();
    await late.catch(() => undefined);
    expect(await channel.keys()).toEqual(['file-channel', 'files', 'files-sent']);
  },
);

test('two senders under one id with different names: the file has the name of the one that sent it', async () => {
  const channel = new Channel(redis);
  const source = new PassThrough();
  source.write('text');
  const stored = new Promise((onProgress) => {
    void channel.sender({ lingerMs: 0 }).send(source, { name: 'a', id: 'id', onProgress });
  });
  await stored;
  let late: Promise<SentFile> | undefined;
  await new Promise<unknown>((onListed) => {
    late = channel.sender().send(Buffer.from('text'), { name: 'b', id: 'id', onListed });
  });
  source.end();
  expect(await late).toMatchObject({ isDuplicate: true });
  const files = new FileChannel(redis, channel.name, { prefix: channel.prefix });
  expect(await files.numberOf('id')).toMatchObject({ name: 'a' });
  await channel.sender().end();
  expect(await readAll(channel.receiver())).toEqual({ a: 'text' });
  expect(await files.numberOf('id')).toMatchObject({ name: 'a' });
});

test('a file whose sender died before its name was recorded is sent again with another name', async () => {
  const channel = new Channel(redis);
  const dying = stepwise(other, async (_, send, args) => {
    if (args.some((arg) => typeof arg === 'string' && /^[0-9a-f]{64} a$/.test(arg)))
      throw new DeathError('died');
    return send();
  });
  await channel.sender({}, dying).send(Buffer.from('text'), { name: 'a', id: 'id' });
  const files = new FileChannel(redis, channel.name, { prefix: channel.prefix });
  expect(await channel.sender().send(Buffer.from('text'), { name: 'b', id: 'id' })).toMatchObject({
    isDuplicate: true,
  });
  await channel.sender().end();
  expect(await readAll(channel.receiver())).toEqual({ a: 'text' });
  expect(await files.numberOf('id')).toMatchObject({ name: 'a' });
});

test('a file that another sender finishes under another name keeps the name that receivers see', async () => {
  const channel = new Channel(redis);
  const stop = new AbortController();
  const source = new PassThrough();
  source.write('te');
  const begun = channel
    .sender({ lingerMs: 0 })
    .send(source, { name: 'a', id: 'id', signal: stop.signal, onProgress: () => stop.abort() });
  await expect(begun).rejects.toMatchObject({ name: 'AbortError' });
  expect(await channel.sender().send(Buffer.from('text'), { name: 'b', id: 'id' })).toMatchObject({
    name: 'a',
    isDuplicate: false,
    resumedAt: 2,
  });
  const files = new FileChannel(redis, channel.name, { prefix: channel.prefix });
  expect(await files.numberOf('id')).toMatchObject({ name: 'a' });
  await channel.sender().end();
  expect(await readAll(channel.receiver())).toEqual({ a: 'text' });
  expect(await files.numberOf('id')).toMatchObject({ name: 'a' });
});
