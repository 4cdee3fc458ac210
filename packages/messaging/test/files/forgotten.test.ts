/** A failover loses that a file was listed, or some of its chunks: nothing is missing, mixed up, or waited for in vain. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterAll, expect, test } from '@jest/globals';
import { connect, until } from '@mortise/test-kit';
import { Channel, first, freshDirectory, lines, snapshot, textOf } from './fixture.js';

const redis = connect();
const [directory, removeDirectory] = freshDirectory();

afterAll(removeDirectory);

/** More than three windows. */
const TEXT = lines(3_000);
const WINDOW_BYTES = 12_000;
/** Nobody loses a lease that a test doesn't take. */
const LONG_MS = 60_000;

/** Which has had a file, so that its epoch outlives what is forgotten. */
async function usedChannel(): Promise<Channel> {
  const channel = new Channel(redis);
  await channel.sender().send(Readable.from(['0']), { name: 'first' });
  const [file, leave] = await first(channel.receiver());
  await textOf(file);
  await file.done();
  await leave();
  return channel;
}

/** Of the channel, in a slot of its own; or of its files as well. */
function keysOf({ prefix, name }: Channel, what: 'channel' | 'all'): string {
  return what === 'all' ? `${prefix}:*` : `${prefix}:messaging:{${name}}:*`;
}

async function readOn(blocks: AsyncIterable<Buffer>): Promise<void> {
  for await (const block of blocks) expect(block.length).toBeGreaterThan(0);
}

function writePath(name: string): string {
  const path = join(directory, name);
  writeFileSync(path, TEXT);
  return path;
}

test.each(['channel', 'all'] as const)(
  'a file is lost (%s), and another one gets its number: the two are not mixed up',
  async (what) => {
    const channel = await usedChannel();
    const forget = await snapshot(redis, keysOf(channel, what));
    const source = new Readable({ read: () => undefined });
    let sentBytes = 0;
    const sending = channel.sender({ lingerMs: 0 }).send(source, {
      name: 'log',
      onProgress: ({ bytes }) => {
        sentBytes = bytes;
      },
    });
    sending.catch(() => undefined);
    source.push(TEXT.slice(0, 5_000));
    const [forgotten, leaveForgotten] = await first(channel.receiver('r1', redis, LONG_MS));
    const blocks = forgotten.blocks();
    await blocks.next();
    await until('all of it', () => sentBytes === 5_000);
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
    const left = (await redis.keys(keysOf(channel, 'all'))).map((key) => key.slice(key.indexOf('}:') + 2));
    expect(left.toSorted()).toEqual(['file-channel', 'files']);
  },
);

test.each(['channel', 'all'] as const)(
  'a path that is being sent is forgotten (%s): it is listed again, with the same id, and sent whole',
  async (what) => {
    const channel = await usedChannel();
    const forget = await snapshot(redis, keysOf(channel, what));
    let sentBytes = 0;
    const sending = channel.sender().send(writePath(`path ${what}`), {
      onProgress: ({ bytes }) => {
        sentBytes = bytes;
      },
    });
    await until('a full window', () => sentBytes > WINDOW_BYTES);
    const [entry] = await redis.hvals(`${channel.prefix}:messaging:{${channel.name}}:files-listed`);
    await forget();
    const [file, leave] = await first(channel.receiver());
    expect(entry!.split(':')[4]).toBe(file.fileId);
    expect(await textOf(file)).toBe(TEXT);
    await file.done();
    await leave();
    expect(await sending).toMatchObject({ fileId: file.fileId, number: file.number, isDuplicate: false });
    await channel.sender().end();
    expect((await redis.keys(keysOf(channel, 'all'))).filter((key) => key.includes('%%'))).toEqual([]);
  },
);

test('a fully stored file is lost: its receivers do not count as done', async () => {
  const channel = await usedChannel();
  const forget = await snapshot(redis, keysOf(channel, 'channel'));
  const source = new Readable({ read: () => undefined });
  const sending = channel.sender({ leaseMs: LONG_MS }).send(source, { name: 'log', id: 'log' });
  source.push('text');
  await until('the chunk', async () => (await redis.keys(`${keysOf(channel, 'all')}:chunk:*`)).length === 2);
  await forget();
  source.push(null);
  await expect(sending).rejects.toMatchObject({ code: 'ERR_FILE_FORGOTTEN' });
  await channel.sender().send(Readable.from(['text']), { name: 'log', id: 'log' });
  const [file, leave] = await first(channel.receiver());
  expect(await textOf(file)).toBe('text');
  await file.done();
  await leave();
});

test('done of a lost file fails, and does not mark the file that has its number now', async () => {
  const channel = await usedChannel();
  const forget = await snapshot(redis, keysOf(channel, 'all'));
  await channel.sender().send(Readable.from(['before']), { name: 'log' });
  const [forgotten, leaveForgotten] = await first(channel.receiver('r1', redis, LONG_MS));
  await textOf(forgotten);
  const lease = await redis.hget(`${channel.prefix}:messaging:{${channel.name}}:file-channel`, 'r:r1');
  await forget();
  // The same process has it still.
  await redis.hset(`${channel.prefix}:messaging:{${channel.name}}:file-channel`, 'r:r1', lease!);
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
    let sentBytes = 0;
    const options = {
      name: 'log',
      id: 'log',
      onProgress: ({ bytes }: { bytes: number }) => {
        sentBytes = bytes;
      },
    };
    const sending = channel.sender().send(Readable.from([TEXT]), options);
    sending.catch(() => undefined);
    const [file, leave] = await first(channel.receiver('r1', redis, LONG_MS));
    const blocks = file.blocks();
    const found: Buffer[] = [];
    const read = async (): Promise<void> => {
      const { value } = await blocks.next();
      if (value) found.push(value);
    };
    await read();
    await until('a full window', () => sentBytes > WINDOW_BYTES);
    const forget = await snapshot(redis, keysOf(channel, 'all'));
    for (let index = 0; index < 6; index += 1) await read();
    await until('a window behind what was read', () => sentBytes > 2 * WINDOW_BYTES);
    await forget();
    const again = sending.catch(async () =>
      channel.sender({ chunkBytes, windowBytes: 4 * chunkBytes }).send(Readable.from([TEXT]), options),
    );
    for await (const block of blocks) found.push(block);
    expect(Buffer.concat(found).toString()).toBe(TEXT);
    await file.done();
    await leave();
    expect(await again).toMatchObject({ bytes: TEXT.length });
    await channel.sender().end();
    expect((await redis.keys(keysOf(channel, 'all'))).filter((key) => key.includes('%%'))).toEqual([]);
  },
);

test('the stored bytes of a listed file are lost: the reader waits until it is sent again', async () => {
  const channel = await usedChannel();
  const options = { name: 'log', id: 'log' };
  const sending = channel.sender().send(Readable.from([TEXT]), options);
  sending.catch(() => undefined);
  const [file, leave] = await first(channel.receiver('r1', redis, LONG_MS));
  const blocks = file.blocks();
  const found: Buffer[] = [];
  for (let index = 0; index < 6; index += 1) {
    const { value } = await blocks.next();
    found.push(value as Buffer);
  }
  const stored = await redis.keys(`${channel.prefix}:messaging:{${channel.name}%%*`);
  await redis.del(stored);
  const again = sending.catch(async () => channel.sender().send(Readable.from([TEXT]), options));
  for await (const block of blocks) found.push(block);
  expect(Buffer.concat(found).toString()).toBe(TEXT);
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
  await redis.zadd(`${channel.prefix}:messaging:{${channel.name}}:file-receivers`, 1, 'r1');
  const [again, leaveAgain] = await first(channel.receiver());
  expect(await textOf(again)).toBe(lines(750));
  await again.done();
  await leaveAgain();
  await expect(file.ack()).rejects.toMatchObject({ code: 'ERR_LEASE_LOST' });
  await expect(readOn(blocks)).rejects.toMatchObject({ code: 'ERR_LEASE_LOST' });
  await leave();
});
