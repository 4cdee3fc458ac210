/**
 * Sending and receiving, and the defects of the algorithm that files replace (Redis in Action, 6.6, as published). Each
 * defect has a test of its name here or in another file of this folder: the last test checks that. D6 is of the
 * aggregation, in test/log-aggregation.
 *
 * | | Defect |
 * |---|---|
 * | D1 | counters of receivers are compared as byte strings: with ten of them a file is deleted when two are done |
 * | D3 | a receiver without news never sleeps: 8,989 polls in an idle second |
 * | D4 | a file cannot be read while it is written |
 * | D5 | gzip: one member only; what is truncated or damaged is accepted |
 * | D7 | a file that is larger than the limit: the sender loops for ever |
 * | D8 | a sender that is restarted appends to what it has sent |
 * | D15 | a receiver that dies between fetching and handling gets nothing again, and the sender waits for ever |
 * | D16 | who is done is a counter: one receiver that says it twice counts as two |
 * | D17 | a directory below is an error |
 * | D18 | a file of no bytes is not cleaned up |
 * | D19 | a file that grows while it is copied breaks the accounting |
 * | D20 | a value holds a whole file, and ends at 512 MB |
 */
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { describe, expect, test } from '@jest/globals';
import type { IncomingFile } from '@mortise/messaging/files';
import { connect, until } from '@mortise/test-kit';
import { Channel, first, freshDirectory, lines, openLines, pushed, readAll, textOf } from './fixture.js';

const redis = connect();
const { directory, pathOf } = freshDirectory();

function sha256Of(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

describe('a file', () => {
  test('reaches each receiver as it was sent, with its SHA-256, and leaves nothing', async () => {
    const channel = new Channel(redis);
    const text = lines(3_000);
    const path = pathOf('access.log', text);
    const sender = channel.sender({ receivers: ['r1', 'r2', 'r3'] });
    const reading = ['r1', 'r2', 'r3'].map((name) => readAll(channel.receiver(name)));
    const sent = await sender.send(path);
    expect(sent).toMatchObject({
      name: 'access.log',
      number: 1,
      bytes: text.length,
      sha256: sha256Of(text),
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
    await channel.sender().send(Readable.from(['one\ntwo', '\n\nthr', 'ee']), { name: 'a' });
    const [file, leave] = await first(channel.receiver());
    const found: [string, number][] = [];
    for await (const line of file.lines()) found.push([line, file.offset]);
    await leave();
    expect(found).toEqual([
      ['one', 4],
      ['two', 8],
      ['', 9],
      ['three', 14],
    ]);
  });

  test('is read as a stream', async () => {
    const channel = new Channel(redis);
    const text = lines(2_000);
    const sending = channel.sender().send(Readable.from([text]), { name: 'a' });
    const [file, leave] = await first(channel.receiver());
    const parts: Buffer[] = [];
    for await (const part of file.stream()) parts.push(part as Buffer);
    expect(Buffer.concat(parts).toString()).toBe(text);
    await Promise.all([sending, leave()]);
  });

  test('with a line of more than maxLineBytes is refused, and a line of exactly maxLineBytes is read', async () => {
    const channel = new Channel(redis);
    await channel.sender().send(Readable.from([`${'x'.repeat(5_000)}\ny`]), { name: 'a' });
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

describe('an aborted signal', () => {
  test('ends the iteration over files without an error: before it begins, and while it waits', async () => {
    const channel = new Channel(redis);
    const never = channel.receiver().files({ signal: AbortSignal.abort(new Error('enough')) });
    expect(await never.next()).toEqual({ done: true, value: undefined });
    const controller = new AbortController();
    await channel.sender().send(Readable.from(['x']), { name: 'a' });
    const files = channel.receiver().files({ signal: controller.signal });
    const { value: file } = await files.next();
    expect(await textOf(file!)).toBe('x');
    await file!.done();
    const next = files.next();
    controller.abort(new Error('enough'));
    expect(await next).toEqual({ done: true, value: undefined });
    await channel.sender().end();
    expect(await readAll(channel.receiver())).toEqual({});
  });

  test.each([
    ['lines', (file: IncomingFile) => file.lines().next()],
    ['blocks', (file: IncomingFile) => file.blocks().next()],
    ['stream', (file: IncomingFile) => textOf(file)],
  ])('%s of the present file throw its reason, and the file comes again', async (_, begin) => {
    const channel = new Channel(redis);
    const controller = new AbortController();
    const files = channel.receiver().files({ signal: controller.signal });
    const next = files.next();
    // A source without an end: its first chunk is not full.
    const open = new PassThrough();
    open.write('x\n');
    const sending = channel.sender().send(open, { name: 'a' });
    const { value: file } = await next;
    const reading = begin(file!);
    controller.abort(new Error('enough'));
    await expect(reading).rejects.toThrow('enough');
    expect(await files.next()).toEqual({ done: true, value: undefined });
    open.end();
    await sending;
    await channel.sender().end();
    expect(await readAll(channel.receiver())).toEqual({ a: 'x\n' });
  });
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

test('D1: with ten receivers nothing is freed before the last one is done', async () => {
  const channel = new Channel(redis);
  const names = Array.from({ length: 10 }, (_, index) => `${index}`);
  const sender = channel.sender({ receivers: names });
  await sender.send(Readable.from([lines(100)]), { name: 'a' });
  await sender.end();
  for (const name of names) expect(await readAll(channel.receiver(name))).toEqual({ a: lines(100) });
  expect(await channel.keys()).toEqual(['file-channel', 'files']);
});

test('D4: a file is read while it is written', async () => {
  const channel = new Channel(redis);
  const sender = channel.sender({ lingerMs: 5 });
  const source = pushed();
  const sending = sender.send(source, { name: 'a' });
  const { nextLine, end } = await openLines(channel.receiver());
  for (const line of ['one', 'two', 'three']) {
    source.push(`${line}\n`);
    expect(await nextLine()).toBe(line);
  }
  source.push(null);
  expect(await nextLine()).toBeUndefined();
  expect(await sending).toMatchObject({ bytes: 14 });
  await end();
});

test('D7: a file that is larger than the window and the budget flows through, within them', async () => {
  const channel = new Channel(redis);
  const sender = channel.sender({ budgetBytes: 16_384 });
  const text = lines(30_000);
  const reading = readAll(channel.receiver());
  const stored: number[] = [];
  await sender.send(Readable.from([text]), {
    name: 'a',
    onProgress: ({ storedBytes }) => stored.push(storedBytes),
  });
  await sender.end();
  expect(await reading).toEqual({ a: text });
  expect(text.length).toBeGreaterThan(500_000);
  expect(stored.length).toBeGreaterThan(100);
  expect(Math.max(...stored)).toBeLessThanOrEqual(16_384);
});

test('D8: bytes that were sent before are not sent again', async () => {
  const channel = new Channel(redis);
  const path = pathOf('twice.log', lines(600));
  const reading = readAll(channel.receiver());
  const died = new Error('died');
  const stop = new AbortController();
  await expect(
    channel.sender().send(path, {
      id: 'twice',
      onProgress: ({ bytes }) => {
        if (bytes > 8_000) stop.abort(died);
      },
      signal: stop.signal,
    }),
  ).rejects.toBe(died);
  const sent = await channel.sender().send(path, { id: 'twice' });
  expect(sent.resumedAt).toBeGreaterThan(8_000);
  expect(sent).toMatchObject({ isDuplicate: false, sha256: sha256Of(lines(600)) });
  const again = { isDuplicate: true, number: sent.number };
  expect(await channel.sender().send(path, { id: 'twice' })).toMatchObject(again);
  await channel.sender().received();
  expect(await channel.sender().send(path, { id: 'twice' })).toMatchObject(again);
  await channel.sender().end();
  expect(await reading).toEqual({ 'twice.log': lines(600) });
});

test('D14: the end comes after all files, also for a late receiver', async () => {
  const channel = new Channel(redis);
  const sender = channel.sender();
  for (const name of ['a', 'b', 'c']) await sender.send(Readable.from([name]), { name });
  await sender.end();
  expect(await readAll(channel.receiver())).toEqual({ a: 'a', b: 'b', c: 'c' });
  expect(await readAll(channel.receiver())).toEqual({});
  await expect(sender.send(Readable.from(['d']), { name: 'd' })).rejects.toMatchObject({
    code: 'ERR_CHANNEL_ENDED',
  });
});

test('D16: a receiver that is done twice counts once', async () => {
  const channel = new Channel(redis);
  const sender = channel.sender({ receivers: ['r1', 'r2'] });
  await sender.send(Readable.from(['x']), { name: 'a' });
  const [file, leave] = await first(channel.receiver());
  await textOf(file);
  await file.done();
  await file.done();
  await leave();
  await sender.end();
  expect(await readAll(channel.receiver('r2'))).toEqual({ a: 'x' });
});

test('D17: subdirectories are sent, sorted by path; send refuses a directory', async () => {
  const channel = new Channel(redis);
  const root = join(directory, 'tree');
  mkdirSync(join(root, 'b', 'deep'), { recursive: true });
  for (const name of ['z', 'b/one', 'b/deep/two', 'a']) writeFileSync(join(root, name), name);
  const sender = channel.sender();
  const reading = readAll(channel.receiver());
  const sent = await sender.sendDirectory(root);
  const again = await sender.sendDirectory(root);
  expect(again.map(({ isDuplicate }) => isDuplicate)).toEqual([true, true, true, true]);
  await sender.end();
  const names = ['a', 'b/deep/two', 'b/one', 'z'];
  expect(sent.map(({ name, bytes }) => [name, bytes])).toEqual(names.map((name) => [name, name.length]));
  expect(Object.keys(await reading)).toEqual(names);
  await expect(sender.send(root)).rejects.toThrow(TypeError);
});

test('D18: an empty file is sent and read, and leaves nothing', async () => {
  const channel = new Channel(redis);
  const sender = channel.sender();
  const follow = AbortSignal.abort();
  const empty = { bytes: 0, isDuplicate: false };
  expect(await sender.send(pathOf('empty.log', ''))).toMatchObject(empty);
  expect(await sender.send(pathOf('followed', ''), { follow })).toMatchObject(empty);
  expect(await sender.send(Readable.from([]), { name: 'stream' })).toMatchObject({ bytes: 0 });
  await sender.end();
  const found: [string, string[], number, string | undefined][] = [];
  for await (const file of channel.receiver().files()) {
    const read: string[] = [];
    for await (const line of file.lines()) read.push(line);
    found.push([file.name, read, file.offset, file.sha256]);
    await file.done();
  }
  const sha256 = sha256Of('');
  expect(found).toEqual(['empty.log', 'followed', 'stream'].map((name) => [name, [], 0, sha256]));
  expect(await channel.keys()).toEqual(['file-channel', 'files']);
});

test('D19: a file that grows is followed until the signal', async () => {
  const channel = new Channel(redis);
  const path = pathOf('growing.log', 'one\n');
  const follow = new AbortController();
  const sender = channel.sender({ lingerMs: 5 });
  const sending = sender.send(path, { follow: follow.signal });
  const { nextLine, end } = await openLines(channel.receiver());
  expect(await nextLine()).toBe('one');
  writeFileSync(path, 'two\n', { flag: 'a' });
  expect(await nextLine()).toBe('two');
  follow.abort();
  expect(await sending).toMatchObject({ bytes: 8 });
  expect(await nextLine()).toBeUndefined();
  await end();
});

test('D19: a file that grows while it is copied is sent to its end, within the budget', async () => {
  const channel = new Channel(redis);
  // More than is read at once.
  const path = pathOf('growing-copy.log', lines(70_000));
  let grown = 70_000;
  const sender = channel.sender({ budgetBytes: 16_384 });
  const reading = readAll(channel.receiver());
  const stored: number[] = [];
  const sent = await sender.send(path, {
    onProgress: ({ storedBytes }) => {
      stored.push(storedBytes);
      if (grown === 72_000) return;
      writeFileSync(path, lines(100, grown), { flag: 'a' });
      grown += 100;
    },
  });
  await sender.end();
  const text = lines(grown).slice(0, sent.bytes);
  expect(sent.bytes).toBeGreaterThan(lines(70_000).length);
  expect((await reading)['growing-copy.log'] === text).toBe(true);
  expect(Math.max(...stored)).toBeLessThanOrEqual(16_384);
});

test('D20: no value grows with its file', async () => {
  const channel = new Channel(redis);
  const text = lines(1_000).slice(0, 15_500);
  await channel.sender().send(Buffer.from(text), { name: 'a' });
  const chunks = await redis.keys(`${channel.prefix}:*chunk*`);
  expect(chunks.length).toBeGreaterThanOrEqual(4);
  for (const key of chunks) expect(await redis.strlen(key)).toBeLessThanOrEqual(4_096 - 64);
});

test('each defect of files has a test', () => {
  const sources = readdirSync(import.meta.dirname)
    .filter((file) => file.endsWith('.test.ts'))
    .map((file) => readFileSync(join(import.meta.dirname, file), 'utf8'));
  const named = new Set(
    sources.flatMap((source) =>
      [...source.matchAll(/(?:test|describe)\(\s*(?:'|"|`)(D\d+): /g)].map(([, defect]) => defect!),
    ),
  );
  const [table = ''] = sources
    .find((source) => source.includes('each defect of files has a test'))!
    .split('*/');
  const listed = [...table.matchAll(/^ \* \| (D\d+) \|/gm)].map(([, defect]) => defect!);
  expect(listed).toHaveLength(12);
  expect(listed.filter((defect) => !named.has(defect))).toEqual([]);
});
