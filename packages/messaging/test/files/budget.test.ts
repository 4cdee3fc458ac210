/** The share of a file in the budget of its channel. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterAll, expect, test } from '@jest/globals';
import { FileSender } from '@mortise/messaging/files';
import { connect } from '@mortise/test-kit';
import { Channel, first, freshDirectory, lines, textOf } from './fixture.js';

const redis = connect();
const [directory, removeDirectory] = freshDirectory();
afterAll(removeDirectory);

async function reserved({ prefix, name }: Channel): Promise<number> {
  return Number(await redis.hget(`${prefix}:messaging:{${name}}:file-channel`, 'reserved'));
}

test('an ended stream reserves its stored bytes, so the default budget has room for more than four files', async () => {
  const channel = new Channel(redis);
  const { prefix } = channel;
  const sender = new FileSender(redis, channel.name, { receivers: ['r1'], prefix });
  for (let index = 0; index < 6; index += 1) {
    await sender.send(Readable.from(['tiny\n']), { name: `f${index}`, id: `f${index}` });
  }
  // Headers included.
  expect(await reserved(channel)).toBe(6 * 21);
  // Whether it was sent is asked again, and takes nothing.
  await sender.send(Readable.from(['tiny\n']), { name: 'f0', id: 'f0' });
  expect(await reserved(channel)).toBe(6 * 21);
  for (let index = 0; index < 6; index += 1) {
    const [file, leave] = await first(channel.receiver());
    expect(await textOf(file)).toBe('tiny\n');
    await file.done();
    await leave();
  }
  expect(await reserved(channel)).toBe(0);
});

test('a file of known size reserves no more than its size', async () => {
  const channel = new Channel(redis);
  const bytes = 10_000;
  // Chunks of 4,096 bytes less 64, headers included.
  const stored = bytes + 3 * 16;
  const seen: number[] = [];
  const path = join(directory, 'known.log');
  writeFileSync(path, Buffer.alloc(bytes, 'x'));
  const look = {
    name: 'known.log',
    onProgress: () => void reserved(channel).then((each) => seen.push(each)),
  };
  const sender = channel.sender();
  await sender.send(path, look);
  await sender.send(Buffer.alloc(bytes), look);
  await sender.send(Readable.from([Buffer.alloc(bytes)]), { ...look, sizeBytes: bytes });
  expect(await reserved(channel)).toBe(3 * stored);
  expect(Math.max(...seen)).toBe(3 * stored);
  await expect(
    sender.send(Readable.from(['more than that']), { name: 'a', sizeBytes: 4 }),
  ).rejects.toMatchObject({ code: 'ERR_SOURCE_CHANGED' });
  await expect(sender.send(Readable.from(['x']), { name: 'a', sizeBytes: -1 })).rejects.toThrow(RangeError);
  expect(await reserved(channel)).toBe(3 * stored);
});

test('a file that has grown since its beginning gets the room that it needs', async () => {
  const channel = new Channel(redis);
  const path = join(directory, 'grown.log');
  writeFileSync(path, lines(10));
  const stop = new AbortController();
  const options = { id: 'grown' };
  const begun = channel
    .sender()
    .send(path, { ...options, signal: stop.signal, onProgress: () => stop.abort() });
  await begun.catch(() => undefined);
  writeFileSync(path, lines(3_000));
  const sending = channel.sender().send(path, options);
  const [file, leave] = await first(channel.receiver());
  expect(await textOf(file)).toBe(lines(3_000));
  await file.done();
  await leave();
  expect(await sending).toMatchObject({ resumedAt: lines(10).length });
});
