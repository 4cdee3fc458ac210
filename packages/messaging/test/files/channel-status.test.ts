/** The state of a channel for operators. */
import { Readable } from 'node:stream';
import { expect, test } from '@jest/globals';
import { commands, connect } from '@mortise/test-kit';
import { Channel, first, lines } from './fixture.js';

const redis = connect();

test('a channel that is not there is empty', async () => {
  expect(await new Channel(redis).files().status()).toEqual({
    isEnded: false,
    listed: 0,
    storedBytes: 0,
    receivers: [],
    files: [],
  });
});

test('tells the bytes in Redis, and whom each file waits for, the slowest first', async () => {
  const channel = new Channel(redis);
  const files = channel.files();
  const names = ['r1', 'r2', 'r3'];
  for (const name of names) await files.join(name);
  const sender = channel.sender({ receivers: names, windowBytes: 512 * 1_024, budgetBytes: 2 ** 21 });
  const text = lines(3_000);
  const bytes = Buffer.byteLength(text);
  await sender.send(Readable.from([text]), { name: 'a' });
  await sender.send(Readable.from(['b']), { name: 'b' });
  await files.ack('r1', 1, 6_000);
  await files.ack('r2', 1, 9_000);
  await files.done('r3', 1);
  const { receivers, files: found, listed, storedBytes } = await files.status();
  expect(receivers.map(({ receiver }) => receiver)).toEqual(names);
  expect(listed).toBe(2);
  expect(found).toMatchObject([
    {
      number: 1,
      name: 'a',
      state: 'closed',
      bytes,
      pending: 2,
      slowest: [
        { receiver: 'r1', ackedBytes: 6_000 },
        { receiver: 'r2', ackedBytes: 9_000 },
      ],
    },
    { number: 2, name: 'b', bytes: 1, pending: 3 },
  ]);
  // The first chunk is freed: all have passed it. A header takes 16 bytes.
  const chunks = await redis.keys(`${channel.prefix}:*chunk:*`);
  const sizes = await Promise.all(chunks.map((key) => redis.strlen(key)));
  expect(storedBytes).toBe(sizes.reduce((sum, size) => sum + size, 0));
  expect(found.reduce((sum, file) => sum + file.storedBytes, 0)).toBe(storedBytes);
  expect(storedBytes).toBeLessThan(bytes);
  expect(await files.status({ after: 1 })).toMatchObject({ listed: 2, storedBytes, files: [{ number: 2 }] });
  expect((await files.status({ limit: 1 })).files).toMatchObject([{ number: 1 }]);
  await files.end();
  expect((await files.status()).isEnded).toBe(true);
});

test('tells at most ten receivers of a file', async () => {
  const channel = new Channel(redis);
  const names = Array.from({ length: 12 }, (_, index) => `r${10 + index}`);
  await channel.sender({ receivers: names }).send(Readable.from(['one']), { name: 'one' });
  await channel.files().done('r10', 1);
  const [file] = (await channel.files().status()).files;
  expect(file!.pending).toBe(11);
  expect(file!.slowest).toHaveLength(10);
  expect(file!.slowest.map(({ receiver }) => receiver)).not.toContain('r10');
});

test('disturbs no receiver: a process that has the lease keeps it, and nothing is written', async () => {
  const channel = new Channel(redis);
  await channel.sender().send(Readable.from([lines(100)]), { name: 'a' });
  const [file, end] = await first(channel.receiver('r1', redis, 60_000));
  const sent = await commands(redis, { prefix: channel.prefix }, async () => {
    const status = await channel.files('operator').status();
    expect(status.receivers).toEqual([{ receiver: 'r1', isActive: true }]);
    expect(status.files).toMatchObject([{ number: 1, pending: 1 }]);
  });
  expect(sent.replaceAll(/:[\w-]{12}/g, '')).toMatchInlineSnapshot(`
"hexists file-channel
hgetall files-listed
time
zrange file-receivers
hmget file
smismember files-done
zrange file-cursors
getrange chunk.1.0"
`);
  expect(file.name).toBe('a');
  await end();
});
