/** The window bounds the memory of Redis, whatever the size of the file and however slow its receivers. */
import { Readable } from 'node:stream';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { FileReceiver, FileSender } from '@mortise/messaging/files';
import type { RedisServer } from '@mortise/redis-server';
import { startSingle } from '@mortise/redis-server';
import { disconnect, until } from '@mortise/test-kit';
import { Redis } from 'ioredis';

const MIB = 1_048_576;
const WINDOW_BYTES = 16 * MIB;

let server: RedisServer;
const clients: Redis[] = [];
beforeAll(async () => {
  server = await startSingle();
});
afterAll(async () => {
  for (const client of clients) disconnect(client);
  await server.stop();
});

function connect(): Redis {
  const client = new Redis(server.url);
  clients.push(client);
  return client;
}

async function usedMemory(redis: Redis): Promise<number> {
  return Number(/used_memory:(\d+)/.exec(await redis.info('memory'))?.[1]);
}

test.each([
  [48, 1],
  [96, 1],
  [96, 3],
])('%d MiB to %d receivers stay within the window + 15 %%', async (size, count) => {
  const watching = connect();
  const names = Array.from({ length: count }, (_, index) => `r${index}`);
  const channel = `${size} to ${count}`;
  const sender = new FileSender(connect(), channel, { receivers: names, windowBytes: WINDOW_BYTES });
  const receivers = names.map((name) => ({ name, redis: connect() }));
  await Promise.all(clients.map((client) => client.ping()));
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
    receivers.map(async ({ name, redis }) => {
      let got = 0;
      for await (const file of new FileReceiver(redis, channel, name).files()) {
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
