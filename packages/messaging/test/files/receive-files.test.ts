import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterAll, describe, expect, test } from '@jest/globals';
import { connect, until } from '@mortise/test-kit';
import { Channel, first, freshDirectory, lines, readAll, textOf } from './fixture.js';

const redis = connect();
const [directory, removeDirectory] = freshDirectory();
afterAll(removeDirectory);

describe('a file', () => {
  test('reaches each receiver as it was sent, with its SHA-256, and leaves nothing', async () => {
    const channel = new Channel(redis);
    const text = lines(3_000);
    const path = join(directory, 'access.log');
    writeFileSync(path, text);
    const sender = channel.sender({ receivers: ['r1', 'r2', 'r3'] });
    const reading = ['r1', 'r2', 'r3'].map((name) => readAll(channel.receiver(name)));
    const sent = await sender.send(path);
    expect(sent).toMatchObject({
      name: 'access.log',
      number: 1,
      bytes: text.length,
      sha256: createHash('sha256').update(text).digest('hex'),
      isDuplicate: false,
      resumedAt: 0,
    });
    await sender.end();
    expect(await Promise.all(reading)).toEqual(Array.from({ length: 3 }, () => ({ 'access.log': text })));
    await sender.received();
    expect(await channel.keys()).toEqual(['file-channel', 'files']);
    for (const key of await redis.keys(`${channel.prefix}:*`)) {
      expect(await redis.pttl(key)).toBeLessThanOrEqual(60_000);
    }
  });

  test('is read by lines, the last one without its line feed included', async () => {
    const channel = new Channel(redis);
    const sender = channel.sender();
    await sender.send(Readable.from(['one\ntwo', '\n\nthr', 'ee']), { name: 'a' });
    await sender.end();
    const found: [string, number][] = [];
    for await (const file of channel.receiver().files()) {
      for await (const line of file.lines()) found.push([line, file.offset]);
      await file.done();
    }
    expect(found).toEqual([
      ['one', 4],
      ['two', 8],
      ['', 9],
      ['three', 14],
    ]);
  });

  test('is read as a stream', async () => {
    const channel = new Channel(redis);
    const sender = channel.sender();
    const text = lines(2_000);
    const reading = (async () => {
      const parts: Buffer[] = [];
      for await (const file of channel.receiver().files()) {
        for await (const part of file.stream()) parts.push(part as Buffer);
        await file.done();
      }
      return Buffer.concat(parts).toString();
    })();
    await sender.send(Readable.from([text]), { name: 'a' });
    await sender.end();
    expect(await reading).toBe(text);
  });

  test('with a line of more than maxLineBytes is refused, and a line of exactly maxLineBytes is read', async () => {
    const channel = new Channel(redis);
    const sender = channel.sender();
    await sender.send(Readable.from([`${'x'.repeat(5_000)}\ny`]), { name: 'a' });
    const [file, leave] = await first(channel.receiver());
    const reading = file.lines({ maxLineBytes: 4_999 })[Symbol.asyncIterator]();
    await expect(reading.next()).rejects.toMatchObject({ code: 'ERR_LINE_TOO_LONG', maxBytes: 4_999 });
    await leave();
    const [again, leaveAgain] = await first(channel.receiver());
    const read: number[] = [];
    for await (const line of again.lines({ maxLineBytes: 5_000 })) read.push(line.length);
    expect(read).toEqual([5_000, 1]);
    await leaveAgain();
  });
});

test('a receiver waits for the channel, for each file, and for the end', async () => {
  const channel = new Channel(redis);
  const files = channel.receiver().files();
  const sender = channel.sender();
  for (const name of ['a', 'b', 'c']) {
    const next = files.next();
    await sender.send(Readable.from([name]), { name });
    const { value: file } = await next;
    expect(await textOf(file!)).toBe(name);
    await file!.done();
  }
  const next = files.next();
  await sender.end();
  expect(await next).toEqual({ done: true, value: undefined });
});

test('a file that is neither done nor failed stops the iteration, and comes again', async () => {
  const channel = new Channel(redis);
  await channel.sender().send(Readable.from(['x']), { name: 'a' });
  const files = channel.receiver().files();
  const { value: file } = await files.next();
  await expect(file!.ack()).rejects.toMatchObject({ code: 'ERR_INVALID_ARG' });
  await expect(file!.done()).rejects.toMatchObject({
    code: 'ERR_INVALID_ARG',
    message: expect.stringContaining('was not read to its end'),
  });
  await expect(files.next()).rejects.toMatchObject({
    code: 'ERR_INVALID_ARG',
    message: expect.stringContaining('neither done() nor failed'),
  });
  await channel.sender().end();
  expect(await readAll(channel.receiver())).toEqual({ a: 'x' });
  await expect(channel.receiver('r2').files().next()).resolves.toMatchObject({ done: true });
});

test('files and blocks end with their block of `await using`', async () => {
  const channel = new Channel(redis);
  await channel.sender().send(Readable.from([lines(300)]), { name: 'a' });
  const receiver = channel.receiver();
  {
    await using files = receiver.files();
    const { value: file } = await files.next();
    expect(() => file!.blocks({ gunzip: 5 as never })).toThrow('gunzip must be true or false');
    await using blocks = file!.blocks();
    await blocks.next();
  }
  // The lease is released, so another process reads at once.
  const [again, stop] = await first(channel.receiver());
  expect(again.name).toBe('a');
  await stop();
});

test('other receivers are refused on either side', async () => {
  const channel = new Channel(redis);
  await channel.sender().send(Readable.from(['x']), { name: 'a' });
  const sending = channel.sender({ receivers: ['r1', 'r2'] }).send(Readable.from(['x']), { name: 'b' });
  await expect(sending).rejects.toMatchObject({ code: 'ERR_RECEIVERS_DIFFER' });
  await expect(channel.receiver('r2').files().next()).rejects.toMatchObject({
    code: 'ERR_UNKNOWN_RECEIVER',
    receiver: 'r2',
  });
});

test('the next file waits while the budget is used up', async () => {
  const channel = new Channel(redis);
  const sender = channel.sender({ budgetBytes: 16_384 });
  await sender.send(Readable.from(['x']), { name: 'a' });
  let isSent = false;
  const sending = sender.send(Readable.from(['y']), { name: 'b' }).finally(() => {
    isSent = true;
  });
  const [file, leave] = await first(channel.receiver());
  expect(await textOf(file)).toBe('x');
  expect(isSent).toBe(false);
  await file.done();
  await leave();
  await sending;
  await sender.end();
  expect(await readAll(channel.receiver())).toEqual({ b: 'y' });
});

test('the sender waits while the window is full, and a freed chunk wakes it', async () => {
  const channel = new Channel(redis);
  const sender = channel.sender({ leaseMs: 60_000 });
  const text = lines(1_500);
  let isSent = false;
  const progress: number[] = [];
  const sending = sender
    .send(Readable.from([text]), { name: 'a', onProgress: ({ bytes }) => progress.push(bytes) })
    .then(() => (isSent = true));
  await until('a full window', () => progress.length === 4);
  expect(isSent).toBe(false);
  const reading = readAll(channel.receiver());
  await sending;
  await sender.end();
  expect(await reading).toEqual({ a: text });
});
