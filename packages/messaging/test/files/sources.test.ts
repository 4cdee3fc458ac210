/** Sources that change while they are sent: rotated, truncated, replaced, broken off. */
import { appendFileSync, renameSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterAll, describe, expect, test } from '@jest/globals';
import { connect } from '@mortise/test-kit';
import { Channel, first, freshDirectory, lines, readAll, textOf } from './fixture.js';

const redis = connect();
const [directory, removeDirectory] = freshDirectory();
afterAll(removeDirectory);

describe('sources that change', () => {
  test('a sender follows its opened log through a rename, until the caller ends it', async () => {
    const channel = new Channel(redis);
    const path = join(directory, 'rotated.log');
    writeFileSync(path, 'one\n');
    const sender = channel.sender({ lingerMs: 5 });
    const follow = new AbortController();
    const sending = sender.send(path, { id: 'day 1', follow: follow.signal });
    const files = channel.receiver().files();
    const { value: file } = await files.next();
    const reading = file!.lines()[Symbol.asyncIterator]();
    expect(await reading.next()).toMatchObject({ value: 'one' });
    // The writer of the log still has it open, and writes its last line after the rename.
    renameSync(path, `${path}.1`);
    writeFileSync(path, 'three\n');
    appendFileSync(`${path}.1`, 'two\n');
    expect(await reading.next()).toMatchObject({ value: 'two' });
    follow.abort();
    expect(await reading.next()).toMatchObject({ done: true });
    expect(await sending).toMatchObject({ bytes: 8, isDuplicate: false });
    await file!.done();
    expect(await sender.send(path, { id: 'day 2' })).toMatchObject({ number: 2, bytes: 6 });
    expect(await sender.send(`${path}.1`, { id: 'day 1' })).toMatchObject({ number: 1, isDuplicate: true });
    const { value: next } = await files.next();
    expect(await textOf(next!)).toBe('three\n');
    await next!.done();
    await files.return();
  });

  test('a path without an id is a new file each time', async () => {
    const channel = new Channel(redis);
    const path = join(directory, 'twice.log');
    writeFileSync(path, 'text');
    const sent = [await channel.sender().send(path), await channel.sender().send(path)];
    expect(sent.map(({ number, isDuplicate }) => [number, isDuplicate])).toEqual([
      [1, false],
      [2, false],
    ]);
  });

  test('a name that is not UTF-8 is replaced for receivers, and its file has an id of its own', async () => {
    const channel = new Channel(redis);
    const [logs, removeLogs] = freshDirectory();
    for (const byte of [0xfe, 0xff]) {
      writeFileSync(Buffer.concat([Buffer.from(`${logs}/`), Buffer.from([byte])]), String(byte));
    }
    const sender = channel.sender();
    await sender.sendDirectory(logs);
    await sender.end();
    const found: string[] = [];
    for await (const file of channel.receiver().files()) {
      found.push(`${file.name} ${await textOf(file)}`);
      await file.done();
    }
    expect(found.toSorted()).toEqual(['\uFFFD 254', '\uFFFD 255']);
    removeLogs();
  });

  test('a log that is truncated while it is followed ends at its last sent byte', async () => {
    const channel = new Channel(redis);
    const path = join(directory, 'copytruncated.log');
    writeFileSync(path, 'one\ntwo\n');
    const sender = channel.sender({ lingerMs: 5 });
    const follow = new AbortController();
    const sending = sender.send(path, { follow: follow.signal });
    const [file, leave] = await first(channel.receiver());
    const reading = file.lines()[Symbol.asyncIterator]();
    expect(await reading.next()).toMatchObject({ value: 'one' });
    expect(await reading.next()).toMatchObject({ value: 'two' });
    truncateSync(path);
    expect(await sending).toMatchObject({ bytes: 8 });
    expect(await reading.next()).toMatchObject({ done: true });
    await file.done();
    await leave();
    appendFileSync(path, 'three\n');
    expect(await sender.send(path)).toMatchObject({ bytes: 6, isDuplicate: false });
    await sender.end();
    expect(await readAll(channel.receiver())).toEqual({ 'copytruncated.log': 'three\n' });
  });

  test('a file that is truncated while it is sent is aborted, and receivers get an error', async () => {
    const channel = new Channel(redis);
    const path = join(directory, 'truncated.log');
    writeFileSync(path, 'x'.repeat(2_000_000));
    const sending = channel.sender().send(path, {
      onProgress: () => writeFileSync(path, 'x'),
    });
    sending.catch(() => undefined);
    const [file, leave] = await first(channel.receiver());
    await expect(textOf(file)).rejects.toMatchObject({ code: 'ERR_FILE_ABORTED' });
    await expect(sending).rejects.toMatchObject({ code: 'ERR_SOURCE_CHANGED' });
    await file.fail();
    await leave();
    await channel.sender().end();
    expect(await channel.keys()).toEqual(['file-channel']);
  });

  test('a source that differs from the sent bytes aborts its file', async () => {
    const channel = new Channel(redis);
    const stop = new AbortController();
    const source = Readable.from([lines(400)]);
    const sending = channel.sender().send(source, {
      name: 'a',
      id: 'a',
      signal: stop.signal,
      onProgress: () => stop.abort(),
    });
    await expect(sending).rejects.toMatchObject({ name: 'AbortError' });
    const other = channel.sender().send(Readable.from([lines(400, 1)]), { name: 'a', id: 'a' });
    await expect(other).rejects.toMatchObject({ code: 'ERR_SOURCE_CHANGED' });
    const [file, leave] = await first(channel.receiver());
    await expect(textOf(file)).rejects.toMatchObject({ code: 'ERR_FILE_ABORTED' });
    await file.fail();
    await leave();
  });

  test('a source that throws aborts its file, and abort() gives up an abandoned file', async () => {
    const channel = new Channel(redis);
    const broken = (async function* () {
      yield 'some';
      throw new Error('the disk is gone');
    })();
    const sending = channel.sender().send(Readable.from(broken), { name: 'a' });
    await expect(sending).rejects.toThrow('the disk is gone');
    const stop = new AbortController();
    const left = channel.sender().send(Readable.from([lines(400)]), {
      name: 'b',
      id: 'b',
      signal: stop.signal,
      onProgress: () => stop.abort(),
    });
    await expect(left).rejects.toMatchObject({ name: 'AbortError' });
    expect(await channel.sender().abort('b', 'not wanted')).toBe(true);
    expect(await channel.sender().abort('c')).toBe(false);
    const reasons: unknown[] = [];
    await channel.sender().end();
    for await (const file of channel.receiver().files()) {
      reasons.push(await textOf(file).catch((error: { reason: string }) => error.reason));
      await file.fail();
    }
    expect(reasons).toEqual(['the disk is gone', 'not wanted']);
    expect(await channel.keys()).toEqual(['file-channel']);
  });
});
