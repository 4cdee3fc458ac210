/**
 * A failover loses the last moment: that a file was listed, some of its chunks, or its end after the sender got the reply.
 * Nothing is missing, mixed up, or waited for in vain.
 */
import { mkdirSync, renameSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { expect, test } from '@jest/globals';
import { connect, until } from '@mortise/test-kit';
import type { IncomingFile, SendFileOptions, SentFile } from '@mortise/messaging/files';
import {
  Channel,
  failNext,
  first,
  freshDirectory,
  lines,
  pushed,
  readAll,
  readNext,
  sendPart,
  snapshot,
  textOf,
} from './fixture.js';

const redis = connect();
const { directory, pathOf } = freshDirectory();

/** Three chunks, and more than three windows. */
const TEXT = lines(500);
const LONG_TEXT = lines(3_000);
/** In chunks of 4 KiB; a window has four. */
const WINDOW_BYTES = 12_000;
/** Nobody loses a lease that a test doesn't take. */
const LONG_MS = 60_000;

/** The keys of a channel, or of its files as well. */
function keysOf(channel: Channel, what: 'channel' | 'all'): string {
  return what === 'all' ? `${channel.prefix}:*` : channel.key('*');
}

/** The keys of its files. */
function leftOf(channel: Channel): Promise<string[]> {
  return redis.keys(`${channel.prefix}:*%%*`);
}

/** A channel that has had a file, so that its epoch outlives what is forgotten. */
async function usedChannel(): Promise<Channel> {
  const channel = new Channel(redis);
  await channel.sender().send(Readable.from(['0']), { name: 'first' });
  await readNext(channel.receiver());
  return channel;
}

/** Sends, and tells how many bytes receivers can read. */
function sendCounted(
  channel: Channel,
  source: string | Readable,
  options: SendFileOptions,
  limits = {},
): { sending: Promise<SentFile>; sentBytes: () => number } {
  let sentBytes = 0;
  const sending = channel.sender(limits).send(source, {
    ...options,
    onProgress: ({ bytes }) => {
      sentBytes = bytes;
    },
  });
  sending.catch(() => undefined);
  return { sending, sentBytes: () => sentBytes };
}

/** So many blocks of a file, and a function that reads on to its end. */
async function begin(
  file: IncomingFile,
  count: number,
): Promise<{ read: (count: number) => Promise<void>; toEnd: () => Promise<string> }> {
  const blocks = file.blocks();
  const found: Buffer[] = [];
  const read = async (more: number): Promise<void> => {
    for (let index = 0; index < more; index += 1) {
      const { value } = await blocks.next();
      found.push(value as Buffer);
    }
  };
  await read(count);
  const toEnd = async (): Promise<string> => {
    for await (const block of blocks) found.push(block);
    return Buffer.concat(found).toString();
  };
  return { read, toEnd };
}

test.each(['channel', 'all'] as const)(
  'a file is lost (%s), and another one gets its number: the two are not mixed up',
  async (what) => {
    const channel = await usedChannel();
    const forget = await snapshot(redis, keysOf(channel, what));
    const source = pushed(LONG_TEXT.slice(0, 5_000));
    const { sending, sentBytes } = sendCounted(channel, source, { name: 'log' }, { lingerMs: 0 });
    const [forgotten, leaveForgotten] = await first(channel.receiver('r1', redis, LONG_MS));
    const blocks = forgotten.blocks();
    await blocks.next();
    await until('all of it', () => sentBytes() === 5_000);
    await forget();
    const sent = await channel.sender().send(Readable.from([lines(100)]), { name: 'log' });
    expect(sent).toMatchObject({ number: forgotten.number, epoch: forgotten.epoch, isDuplicate: false });
    expect(sent.fileId).not.toBe(forgotten.fileId);
    const [file, leave] = await first(channel.receiver());
    expect(file.fileId).toBe(sent.fileId);
    expect(await textOf(file)).toBe(lines(100));
    await forgotten.fail();
    await expect(sending).rejects.toMatchObject({ code: 'ERR_FILE_FORGOTTEN' });
    await file.done();
    await Promise.all([leave(), blocks.return(undefined).then(leaveForgotten)]);
    await channel.sender().end();
    expect(await channel.keys()).toEqual(['file-channel', 'files']);
  },
);

test.each(['channel', 'all'] as const)(
  'a path that is being sent is forgotten (%s): it is listed again, with the same id, and sent whole',
  async (what) => {
    const channel = await usedChannel();
    const forget = await snapshot(redis, keysOf(channel, what));
    const { sending, sentBytes } = sendCounted(channel, pathOf(`path ${what}`, LONG_TEXT), {});
    await until('a full window', () => sentBytes() > WINDOW_BYTES);
    const [entry] = await redis.hvals(channel.key('files-listed'));
    await forget();
    const [file, leave] = await first(channel.receiver());
    expect(entry!.split(':')[4]).toBe(file.fileId);
    expect(await textOf(file)).toBe(LONG_TEXT);
    await file.done();
    await leave();
    expect(await sending).toMatchObject({ fileId: file.fileId, number: file.number, isDuplicate: false });
    await channel.sender().end();
    expect(await leftOf(channel)).toEqual([]);
  },
);

test('the last chunks of a file are lost before its end: it is not closed without them', async () => {
  const channel = await usedChannel();
  const source = pushed(TEXT.slice(0, 5_000));
  const { sending, sentBytes } = sendCounted(channel, source, { name: 'log', id: 'log' }, { lingerMs: 0 });
  await until('all of it', () => sentBytes() === 5_000);
  const forget = await snapshot(redis, keysOf(channel, 'all'));
  source.push(TEXT.slice(5_000));
  await until('the rest', () => sentBytes() === TEXT.length);
  await forget();
  source.push(null);
  await expect(sending).rejects.toMatchObject({ code: 'ERR_FILE_FORGOTTEN' });
  await channel.sender().send(Readable.from([TEXT]), { name: 'log', id: 'log' });
  expect(await readNext(channel.receiver())).toBe(TEXT);
});

test('a fully stored file is lost: its receivers do not count as done', async () => {
  const channel = await usedChannel();
  const forget = await snapshot(redis, keysOf(channel, 'channel'));
  const source = pushed('text');
  const sending = channel.sender({ leaseMs: LONG_MS }).send(source, { name: 'log', id: 'log' });
  await until('the chunk', async () => (await redis.keys(`${keysOf(channel, 'all')}:chunk:*`)).length === 2);
  await forget();
  source.push(null);
  await expect(sending).rejects.toMatchObject({ code: 'ERR_FILE_FORGOTTEN' });
  await channel.sender().send(Readable.from(['text']), { name: 'log', id: 'log' });
  expect(await readNext(channel.receiver())).toBe('text');
});

test('done of a lost file fails, and does not mark the file that has its number now', async () => {
  const channel = await usedChannel();
  const forget = await snapshot(redis, keysOf(channel, 'all'));
  await channel.sender().send(Readable.from(['before']), { name: 'log' });
  const [forgotten, leaveForgotten] = await first(channel.receiver('r1', redis, LONG_MS));
  await textOf(forgotten);
  const lease = await redis.hget(channel.key('file-channel'), 'r:r1');
  await forget();
  // The same process has it still.
  await redis.hset(channel.key('file-channel'), 'r:r1', lease!);
  await channel.sender().send(Readable.from(['after']), { name: 'log' });
  await expect(forgotten.done()).rejects.toMatchObject({ code: 'ERR_FILE_FORGOTTEN' });
  await leaveForgotten();
  const [file, leave] = await first(channel.receiver());
  expect(file.number).toBe(forgotten.number);
  expect(await textOf(file)).toBe('after');
  await file.done();
  await leave();
});

test.each([4_096, 8_192])(
  'read chunks are lost, and sent again in chunks of %d bytes: the reader gets each byte once',
  async (chunkBytes) => {
    const channel = await usedChannel();
    const options = { name: 'log', id: 'log' };
    const { sending, sentBytes } = sendCounted(channel, Readable.from([LONG_TEXT]), options);
    const [file, leave] = await first(channel.receiver('r1', redis, LONG_MS));
    const { read, toEnd } = await begin(file, 1);
    await until('a full window', () => sentBytes() > WINDOW_BYTES);
    const forget = await snapshot(redis, keysOf(channel, 'all'));
    await read(6);
    await until('a window behind what was read', () => sentBytes() > 2 * WINDOW_BYTES);
    await forget();
    const again = sending.catch(async () =>
      channel.sender({ chunkBytes, windowBytes: 4 * chunkBytes }).send(Readable.from([LONG_TEXT]), options),
    );
    expect(await toEnd()).toBe(LONG_TEXT);
    await file.done();
    await leave();
    expect(await again).toMatchObject({ bytes: LONG_TEXT.length });
    await channel.sender().end();
    expect(await leftOf(channel)).toEqual([]);
  },
);

test('the stored bytes of a listed file are lost: the reader waits until it is sent again', async () => {
  const channel = await usedChannel();
  const options = { name: 'log', id: 'log' };
  const { sending } = sendCounted(channel, Readable.from([LONG_TEXT]), options);
  const [file, leave] = await first(channel.receiver('r1', redis, LONG_MS));
  const { toEnd } = await begin(file, 6);
  await redis.del(await leftOf(channel));
  const again = sending.catch(async () => channel.sender().send(Readable.from([LONG_TEXT]), options));
  expect(await toEnd()).toBe(LONG_TEXT);
  await file.done();
  await leave();
  await again;
});

test('a receiver whose successor has finished the file gets ERR_LEASE_LOST', async () => {
  const channel = await usedChannel();
  await channel.sender().send(Readable.from([lines(750)]), { name: 'log' });
  const [file, leave] = await first(channel.receiver('r1', redis, LONG_MS));
  const blocks = file.blocks({ autoAck: false });
  await blocks.next();
  // As if its lease had ended.
  await redis.zadd(channel.key('file-receivers'), 1, 'r1');
  expect(await readNext(channel.receiver())).toBe(lines(750));
  await expect(file.ack()).rejects.toMatchObject({ code: 'ERR_LEASE_LOST' });
  const reading = async (): Promise<void> => {
    for await (const block of blocks) expect(block.length).toBeGreaterThan(0);
  };
  await expect(reading()).rejects.toMatchObject({ code: 'ERR_LEASE_LOST' });
  await leave();
});

test('a sender that waits for room fails after Redis has lost more than its window', async () => {
  const channel = new Channel(redis);
  const options = { name: 'a', id: 'a' };
  const { sending, sentBytes } = sendCounted(channel, Readable.from([LONG_TEXT]), options);
  await until('a full window', () => sentBytes() > WINDOW_BYTES);
  const restore = await snapshot(redis, keysOf(channel, 'all'));
  const [file, leave] = await first(channel.receiver());
  const blocks = file.blocks();
  for (let read = 0; read < 8; read += 1) await blocks.next();
  await until('a full window behind what was read', () => sentBytes() > 3 * WINDOW_BYTES);
  await blocks.return(undefined);
  await leave();
  await restore();
  const reading = readNext(channel.receiver());
  // It is refused and continues when it is called again, or it has continued by itself.
  await sending.catch(async () => channel.sender().send(Readable.from([LONG_TEXT]), options));
  expect(await reading).toBe(LONG_TEXT);
});

/** The function brings a channel back to when a file had its first chunk only, whose writer was gone. */
async function opened(channel: Channel, options: { name: string; id: string }): Promise<() => Promise<void>> {
  await sendPart(channel.sender({ lingerMs: 0 }), pushed(TEXT.slice(0, 5_000)), options);
  return snapshot(redis, keysOf(channel, 'all'));
}

/** All files until the end of the channel; what is refused comes again. */
async function readAllAgain(channel: Channel): Promise<Record<string, string>> {
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
  const forget = await snapshot(redis, keysOf(channel, 'all'));
  const logs = join(directory, 'logs');
  mkdirSync(logs);
  for (const name of ['one', 'two']) writeFileSync(join(logs, name), LONG_TEXT);
  let forgotten: Promise<void> | undefined;
  const sender = channel.sender();
  const reading = readAllAgain(channel);
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
  const forget = await snapshot(redis, keysOf(channel, 'all'));
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
  await failNext(channel.receiver());
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
  await sender.send(Readable.from(['text']), { name: 'a' });
  expect(await readNext(channel.receiver())).toBe('text');
  await until('its end', async () => (await redis.keys(`${channel.prefix}:*`)).length === 0);
  await sender.received();
  await sender.send(Readable.from(['text']), { name: 'b' });
  expect(await readNext(channel.receiver())).toBe('text');
  await sender.received();
});
