/** The memory of a large transfer: Redis and this process hold a window of the file, whatever its size. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

import { expect, test } from '@jest/globals';
import { connect, until } from '@mortise/test-kit';

import { startApi } from '../fixture/api.js';
import { Downloading, MIB, numbered, RemoteChannel } from '../fixture/files.js';
import { keysOf } from '../fixture/redis.js';

const FILE_BYTES = 50 * MIB;
const WINDOW_BYTES = 8 * MIB;
const redis = connect();
setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;
const api = await startApi({
  FILE_WINDOW_BYTES: String(WINDOW_BYTES),
  // On a busy machine the slow reader may stand still for longer than anybody would be waited for.
  FILE_TIMEOUT_MS: '300000',
  STREAM_TIMEOUT_MS: '60000',
});

async function storedBytes(): Promise<number> {
  const chunks = (await keysOf(redis, api.prefix)).filter((key) => key.includes(':chunk:'));
  const sizes = await Promise.all(chunks.map((key) => redis.memory('USAGE', key)));
  return sizes.reduce<number>((sum, size) => sum + (size ?? 0), 0);
}

test('50 MB pass to two receivers through a window of 8 MiB', async () => {
  const logs = new RemoteChannel(api, 'big');
  for (const receiver of ['ann', 'ben']) await logs.join(receiver);
  const over = new AbortController();
  let mostStored = 0;
  const watch = (async () => {
    while (!over.signal.aborted) {
      mostStored = Math.max(mostStored, await storedBytes());
    }
  })();
  const block = numbered(MIB);
  const uploading = logs.begin('big.log');
  const sending = (async () => {
    for (let sent = 0; sent < FILE_BYTES; sent += MIB) await uploading.write(block);
    return uploading.end();
  })();
  await logs.bytes(1, 1);
  const readers = await Promise.all(
    ['ann', 'ben'].map((receiver) =>
      Downloading.open(api.url, logs.pathOf(1, receiver, '&autoAck=true'), {}, false),
    ),
  );
  expect((await sending).json).toMatchObject({ bytes: FILE_BYTES });
  for (const reader of readers)
    expect(await reader.ended()).toMatchObject({ bytes: FILE_BYTES, end: 'whole' });
  over.abort();
  await watch;
  for (const receiver of ['ann', 'ben']) expect((await logs.done(1, receiver)).status).toBe(204);
  await until('nothing of it', async () => (await storedBytes()) === 0);
  expect(mostStored).toBeGreaterThan(MIB);
  expect(mostStored).toBeLessThan(1.15 * WINDOW_BYTES);
});

test('a reader that takes nothing holds the sender up, not memory', async () => {
  const logs = new RemoteChannel(api, 'slow');
  collectGarbage();
  const emptyBytes = process.memoryUsage().arrayBuffers;
  await logs.join('ann');
  const uploading = logs.begin('big.log');
  const block = numbered(MIB);
  let sent = 0;
  const sending = (async () => {
    for (; sent < FILE_BYTES; sent += MIB) await uploading.write(block);
    return uploading.end();
  })();
  await logs.bytes(1, 1);
  const reader = await Downloading.open(api.url, logs.pathOf(1, 'ann', '&autoAck=true'), {}, false);
  reader.response.pause();
  await logs.bytes(1, 5 * MIB);
  let before = -1;
  // It stands still when two looks in a row, with much between them, see the same.
  await until('the sender to stand still', async () => {
    const now = (await logs.look(1)).json.bytes as number;
    const isStill = now === before;
    before = now;
    for (let round = 0; round < 50; round += 1) await redis.ping();
    return isStill;
  });
  expect(await storedBytes()).toBeLessThan(1.15 * WINDOW_BYTES);
  expect(before).toBeLessThan(FILE_BYTES);
  // The clients are in this process as well; a file that is buffered somewhere would show as a whole, for as long as nothing is read.
  // One collection may leave what was freed while it ran.
  await until('the memory of what was sent to be free', async () => {
    collectGarbage();
    await redis.ping();
    return process.memoryUsage().arrayBuffers - emptyBytes < FILE_BYTES / 2;
  });
  reader.response.resume();
  expect((await sending).status).toBe(201);
  expect(await reader.ended()).toMatchObject({ bytes: FILE_BYTES, end: 'whole' });
});
