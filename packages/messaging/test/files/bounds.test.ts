/** The share of a file in the budget of its channel, and the memory of Redis, whatever the size of the file. */
import { writeFileSync } from 'node:fs';
import { Readable } from 'node:stream';
import { expect, test } from '@jest/globals';
import { FileReceiver, FileSender } from '@mortise/messaging/files';
import { connect, runServer, until } from '@mortise/test-kit';
import type { Redis } from 'ioredis';
import { Channel, freshDirectory, lines, readNext, sendPart } from './fixture.js';

const redis = connect();
const { pathOf } = freshDirectory();

async function reserved(channel: Channel): Promise<number> {
  return Number(await redis.hget(channel.key('file-channel'), 'reserved'));
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
  for (let index = 0; index < 6; index += 1) expect(await readNext(channel.receiver())).toBe('tiny\n');
  expect(await reserved(channel)).toBe(0);
});

test('a file of known size reserves no more than its size', async () => {
  const channel = new Channel(redis);
  const bytes = 10_000;
  // Chunks of 4,096 bytes less 64, headers included.
  const stored = bytes + 3 * 16;
  const seen: number[] = [];
  const path = pathOf('known.log', 'x'.repeat(bytes));
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
  const path = pathOf('grown.log', lines(10));
  await sendPart(channel.sender(), path, { id: 'grown' });
  writeFileSync(path, lines(3_000));
  const sending = channel.sender().send(path, { id: 'grown' });
  expect(await readNext(channel.receiver())).toBe(lines(3_000));
  expect(await sending).toMatchObject({ resumedAt: lines(10).length });
});

// Nothing else uses its memory.
const own = await runServer();
const MIB = 1_048_576;
const WINDOW_BYTES = 16 * MIB;

async function usedMemory(client: Redis): Promise<number> {
  return Number(/used_memory:(\d+)/.exec(await client.info('memory'))?.[1]);
}

test.each([
  [32, 1],
  [64, 1],
  [64, 3],
])('%d MiB to %d receivers stay within the window + 15 %%', async (size, count) => {
  const watching = own.connect();
  const names = Array.from({ length: count }, (_, index) => `r${index}`);
  const channel = `${size} to ${count}`;
  const writing = own.connect();
  const sender = new FileSender(writing, channel, { receivers: names, windowBytes: WINDOW_BYTES });
  const receivers = names.map((name) => ({ name, client: own.connect() }));
  await Promise.all(
    [watching, writing, ...receivers.map(({ client }) => client)].map((client) => client.ping()),
  );
  const before = await usedMemory(watching);
  let peak = 0;
  const over = new AbortController();
  const sampling = (async () => {
    while (!over.signal.aborted) peak = Math.max(peak, (await usedMemory(watching)) - before);
  })();
  const piece = Buffer.alloc(MIB, 'a line of sixty-four bytes, with its line feed, again and again\n');
  const source = Readable.from(
    (function* () {
      for (let index = 0; index < size; index += 1) yield piece;
    })(),
  );
  let bytes = 0;
  let storedBytes = 0;
  const sending = sender.send(source, {
    name: 'log',
    onProgress: (progress) => {
      ({ bytes, storedBytes } = progress);
    },
  });
  // Nobody reads before the window is full, so it is really used up.
  await until('a full window', () => storedBytes > WINDOW_BYTES - MIB);
  const received = await Promise.all(
    receivers.map(async ({ name, client }) => {
      let got = 0;
      for await (const file of new FileReceiver(client, channel, name).files()) {
        for await (const block of file.blocks({ wholeLines: true })) got += block.length;
        await file.done();
        break;
      }
      return got;
    }),
  );
  await sending;
  over.abort();
  await sampling;
  expect(bytes).toBe(size * MIB);
  expect(received).toEqual(names.map(() => size * MIB));
  expect(peak).toBeGreaterThan(WINDOW_BYTES - MIB);
  expect(peak / WINDOW_BYTES).toBeLessThanOrEqual(1.15);
});
