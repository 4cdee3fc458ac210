/** A failover loses the end of a file after its sender has got the reply: no process waits for it in vain. */
import { mkdirSync, renameSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterAll, expect, test } from '@jest/globals';
import { connect, until } from '@mortise/test-kit';
import { Channel, first, freshDirectory, lines, readAll, snapshot, textOf } from './fixture.js';

const redis = connect();
const [directory, removeDirectory] = freshDirectory();

afterAll(removeDirectory);

/** Three chunks, and more than a window. */
const TEXT = lines(500);
const LONG_TEXT = lines(3_000);

function pathOf(name: string, text: string): string {
  const path = join(directory, name);
  writeFileSync(path, text);
  return path;
}

/** The function brings a channel back to when a file had its first chunk only, whose writer was gone. */
async function opened(channel: Channel, options: { name: string; id: string }): Promise<() => Promise<void>> {
  const ending = new AbortController();
  const begun = new Promise<void>((resolve) => {
    const source = new Readable({ read: () => undefined });
    source.push(TEXT.slice(0, 5_000));
    channel
      .sender({ lingerMs: 0 })
      .send(source, { ...options, signal: ending.signal, onProgress: () => ending.abort() })
      .catch(() => resolve());
  });
  await begun;
  return snapshot(redis, `${channel.prefix}:*`);
}

/** All files until the end of the channel; what is refused comes again. */
async function readOn(channel: Channel): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for (;;) {
    try {
      for await (const file of channel.receiver().files()) {
        found[file.name] = await textOf(file);
        await file.done();
      }
      return found;
    } catch (error) {
      const { code = '' } = error as { code?: string };
      if (!['ERR_FILE_FORGOTTEN', 'ERR_LEASE_LOST'].includes(code)) throw error;
    }
  }
}

function leftOf(channel: Channel): Promise<string[]> {
  return redis.keys(`${channel.prefix}:*%%*`);
}

test('the end of a path is lost: a sender that waits for the receivers sends it again', async () => {
  const channel = new Channel(redis);
  const options = { name: 'ends', id: 'ends' };
  const forget = await opened(channel, options);
  const sender = channel.sender();
  const sent = await sender.send(pathOf('ends', TEXT), options);
  await forget();
  const received = sender.received();
  await sender.end();
  expect(await readAll(channel.receiver())).toEqual({ ends: TEXT });
  await received;
  expect(sent).toMatchObject({ isDuplicate: false, bytes: TEXT.length });
  expect(await leftOf(channel)).toEqual([]);
});

test('the end of a path is lost: a sender that waits for room for the next file sends it again in parallel', async () => {
  const channel = new Channel(redis);
  const options = { name: 'ends', id: 'ends' };
  const forget = await opened(channel, options);
  const sender = channel.sender();
  await sender.send(pathOf('ends', TEXT), options);
  await forget();
  const sending = sender.send(pathOf('next', LONG_TEXT));
  const reading = readAll(channel.receiver());
  await sending;
  await sender.end();
  expect(await reading).toEqual({ ends: TEXT, next: LONG_TEXT });
  expect(await leftOf(channel)).toEqual([]);
});

test('a file of a directory is lost during the next one: it is sent again, and neither waits for the other', async () => {
  const channel = new Channel(redis);
  await channel.sender().send(Readable.from(['0']), { name: 'zero' });
  const forget = await snapshot(redis, `${channel.prefix}:*`);
  const logs = join(directory, 'logs');
  mkdirSync(logs);
  for (const name of ['one', 'two']) writeFileSync(join(logs, name), LONG_TEXT);
  let forgotten: Promise<void> | undefined;
  const sender = channel.sender();
  const reading = readOn(channel);
  const onProgress = ({ name }: { name: string }): void => {
    if (name === 'two') forgotten ??= forget();
  };
  const sent = await sender.sendDirectory(logs, { onProgress });
  await forgotten;
  await sender.end();
  expect(await reading).toMatchObject({ one: LONG_TEXT, two: LONG_TEXT });
  expect(sent.map(({ name }) => name)).toEqual(['one', 'two']);
  await sender.received();
  expect(await leftOf(channel)).toEqual([]);
});

test('a file is lost before the end of the channel: a path is sent again first, the sender of a stream gets an error', async () => {
  const channel = new Channel(redis);
  await channel.sender().send(Readable.from(['0']), { name: 'zero' });
  const forget = await snapshot(redis, `${channel.prefix}:*`);
  const sender = channel.sender();
  await sender.send(pathOf('last', TEXT));
  const stream = { name: 'stream', id: 'stream' };
  await sender.send(Readable.from([TEXT]), stream);
  await forget();
  await expect(sender.end()).rejects.toMatchObject({ code: 'ERR_FILE_FORGOTTEN', file: 'stream' });
  await sender.send(Readable.from([TEXT]), stream);
  await sender.end();
  expect(await readAll(channel.receiver())).toEqual({ zero: '0', last: TEXT, stream: TEXT });
});

test('the end of a stream is lost: the waiting sender gets an error, keeps its file open, and continues after the stream is sent again', async () => {
  const channel = new Channel(redis);
  const options = { name: 'stream', id: 'stream' };
  const forget = await opened(channel, options);
  const sender = channel.sender();
  await sender.send(Readable.from([TEXT]), options);
  await forget();
  const lost = { code: 'ERR_FILE_FORGOTTEN', file: 'stream' };
  const next = pathOf('behind', LONG_TEXT);
  await until('its lease', async () => {
    const [key] = await redis.keys(`${channel.prefix}:*:file:*`);
    return Number(await redis.hget(key!, 'lease')) < Date.now();
  });
  await expect(sender.send(next, { id: 'next' })).rejects.toMatchObject(lost);
  await expect(sender.received()).rejects.toMatchObject(lost);
  await sender.send(Readable.from([TEXT]), options);
  const reading = readAll(channel.receiver());
  await sender.send(next, { id: 'next' });
  await sender.end();
  expect(await reading).toEqual({ stream: TEXT, behind: LONG_TEXT });
  await sender.received();
  expect(await leftOf(channel)).toEqual([]);
});

test.each([
  { what: 'is gone', change: (path: string) => rmSync(path), cause: { code: 'ENOENT' } },
  {
    what: 'names another file',
    change: (path: string) => {
      renameSync(path, `${path}.1`);
      writeFileSync(path, TEXT);
    },
    cause: { code: 'ERR_SOURCE_CHANGED' },
  },
  {
    what: 'is shorter than its sent bytes',
    change: (path: string) => truncateSync(path, 5_000),
    cause: { code: 'ERR_SOURCE_CHANGED' },
  },
])('a lost path $what: the sender gets the reason', async ({ change, cause }) => {
  const channel = new Channel(redis);
  const options = { name: 'gone', id: 'gone' };
  const forget = await opened(channel, options);
  const sender = channel.sender();
  const path = pathOf(`gone ${performance.now()}`, TEXT);
  await sender.send(path, options);
  await forget();
  change(path);
  await expect(sender.received()).rejects.toMatchObject({ code: 'ERR_FILE_FORGOTTEN', file: 'gone', cause });
  await sender.abort('gone');
  const [file, leave] = await first(channel.receiver());
  await expect(textOf(file)).rejects.toMatchObject({ code: 'ERR_FILE_ABORTED' });
  await file.fail();
  await leave();
  await sender.received();
});

test('all receivers give up the file of a killed sender: nothing is left after its restart', async () => {
  const channel = new Channel(redis);
  const options = { name: 'given up', id: 'given up' };
  await opened(channel, options);
  const [file, leave] = await first(channel.receiver());
  await file.fail();
  await leave();
  const sender = channel.sender();
  await expect(sender.send(Readable.from([TEXT]), options)).rejects.toMatchObject({
    code: 'ERR_FILE_ABORTED',
  });
  await sender.received();
  expect(await leftOf(channel)).toEqual([]);
});

test('a finished file is not sent again after its channel expired and was created again', async () => {
  const channel = new Channel(redis);
  const sender = channel.sender({ keepMs: 1_000 });
  const readOne = async (): Promise<void> => {
    const [file, leave] = await first(channel.receiver());
    expect(await textOf(file)).toBe('text');
    await file.done();
    await leave();
  };
  await sender.send(Readable.from(['text']), { name: 'a' });
  await readOne();
  await until('its end', async () => (await redis.keys(`${channel.prefix}:*`)).length === 0);
  await sender.received();
  await sender.send(Readable.from(['text']), { name: 'b' });
  await readOne();
  await sender.received();
});
