/**
 * Keys, their lifetimes, and epochs: numbers begin at 1 again when a channel is forgotten, and nothing of the one before may
 * be taken for a part of the new one.
 */
import { readFileSync } from 'node:fs';
import { Readable } from 'node:stream';
import { expect, test } from '@jest/globals';
import { FileReceiver, FileSender } from '@mortise/messaging/files';
import { connect, freshPrefix, until } from '@mortise/test-kit';
import {
  Channel,
  first,
  lines,
  openLines,
  pushed,
  readAll,
  readNext,
  sendPart,
  SMALL,
  textOf,
} from './fixture.js';

const redis = connect();
const waiting = connect();

/** Half a second of the server. */
async function halfASecond(): Promise<void> {
  await waiting.blpop('test:nothing', 0.5);
}

test('every key of files is in the table of keys.ts, and expires', async () => {
  const prefix = freshPrefix();
  const options = { ...SMALL, prefix, receivers: ['}x', 'y'], keepMs: 50_000 };
  const sender = new FileSender(redis, '}{%\n', options);
  const sent = await sender.send(Readable.from([lines(100)]), { name: '}:\0', id: '{}' });
  expect(sent).toMatchObject({ name: '}:\0', id: '{}', number: 1 });
  await sendPart(sender, Buffer.from(lines(400)), { name: 'open' });
  const names: string[] = [];
  for await (const file of new FileReceiver(redis, '}{%\n', '}x', { prefix }).files()) {
    names.push(file.name);
    for await (const line of file.lines()) expect(line).toMatch(/^line/);
    await file.done();
    break;
  }
  expect(names).toEqual(['}:\0']);
  const keys = await redis.keys(`${prefix}:*`);
  const table = readFileSync(new URL('../../src/files/keys.ts', import.meta.url), 'utf8');
  const parts = new Set<string>();
  for (const key of keys) {
    const part = key
      .slice(key.indexOf('}:') + 2)
      .replace(/^chunk:.*/, 'chunk:<fileId>.<token>.<n>')
      .replace(/^(file|file-cursors):.*/, '$1:<fileId>');
    parts.add(part);
    expect(table).toContain(`}:${part}\` |`);
    const left = await redis.pttl(key);
    expect(left).toBeGreaterThan(20_000);
    expect(left).toBeLessThanOrEqual(50_000);
  }
  expect([...parts].toSorted()).toEqual([
    'chunk:<fileId>.<token>.<n>',
    'file-channel',
    'file-cursors:<fileId>',
    'file-receivers',
    'file:<fileId>',
    'files',
    'files-done',
    'files-listed',
    'files-sent',
  ]);
});

test('an abandoned upload expires, and its receivers get an error', async () => {
  const channel = new Channel(redis);
  await sendPart(channel.sender({ keepMs: 1_000 }), Buffer.from(lines(400)), { name: 'a' });
  const [file, leave] = await first(channel.receiver());
  // A second of `keepMs`, and one that the server has begun.
  for (let index = 0; index < 4; index += 1) await halfASecond();
  expect(await redis.keys(`${channel.prefix}:*chunk*`)).toEqual([]);
  await expect(file.lines()[Symbol.asyncIterator]().next()).rejects.toMatchObject({
    code: 'ERR_FILE_EXPIRED',
  });
  await leave();
  await until('all to expire', async () => (await redis.keys(`${channel.prefix}:*`)).length === 0);
});

/** The keys of a channel, without those of its files. */
async function channelKeys(channel: Channel): Promise<string[]> {
  return redis.keys(channel.key('*'));
}

/** As if nobody had used the channel for `keepMs`. */
async function forget(channel: Channel): Promise<void> {
  await redis.unlink(await channelKeys(channel));
}

test('the files of a channel have its epoch, and a channel that is created again has another one', async () => {
  const channel = new Channel(redis);
  const ids = new Set<string>();
  const epochs: string[] = [];
  for (const text of ['one', 'two', 'three']) {
    const sender = channel.sender();
    const sent = await sender.send(Readable.from([text]), { name: 'a' });
    const next = await sender.send(Readable.from([text]), { name: 'b' });
    await sender.end();
    for await (const file of channel.receiver().files()) {
      ids.add(`${file.epoch} ${file.number}`);
      expect(file.epoch).toBe(sent.epoch);
      expect(await textOf(file)).toBe(text);
      await file.done();
    }
    expect([sent.number, next.number, next.epoch]).toEqual([1, 2, sent.epoch]);
    expect(await sender.send(Readable.from([]), { name: 'a', id: sent.id })).toMatchObject({
      isDuplicate: true,
      epoch: sent.epoch,
    });
    epochs.push(sent.epoch);
    await forget(channel);
  }
  expect(new Set(epochs).size).toBe(3);
  expect(ids.size).toBe(6);
});

test('the keys of a channel expire together, so no receiver counts as done with a file of the next channel', async () => {
  const channel = new Channel(redis);
  const sender = channel.sender({ receivers: ['r1', 'r2'], keepMs: 50_000 });
  await sender.send(Readable.from(['before']), { name: 'a' });
  await readNext(channel.receiver());
  // At one instant: a process that renews its lease keeps all of them longer.
  const reading = redis.multi();
  for (const key of await channelKeys(channel)) reading.pexpiretime(key);
  const left = (await reading.exec())!.map(([, at]) => at);
  expect(left).toHaveLength(5);
  // None outlives the others.
  expect(new Set(left).size).toBe(1);
});

test('a receiver of a lost channel completes no file of the next one', async () => {
  const channel = new Channel(redis);
  await channel.sender().send(Readable.from([lines(10)]), { name: 'a' });
  const [stale, leave] = await first(channel.receiver());
  await textOf(stale);
  await forget(channel);
  const sender = channel.sender();
  await sender.send(Readable.from([lines(20)]), { name: 'a' });
  const [file, leaveFile] = await first(channel.receiver());
  expect(file.number).toBe(stale.number);
  await expect(stale.done()).rejects.toMatchObject({ code: 'ERR_LEASE_LOST' });
  await leave();
  expect(await textOf(file)).toBe(lines(20));
  await file.done();
  await leaveFile();
});

test('a channel stays while one of its files is read or written', async () => {
  const channel = new Channel(redis);
  const source = pushed('one\n');
  const sender = channel.sender({ keepMs: 1_000, lingerMs: 0 });
  const sending = sender.send(source, { name: 'a' });
  const { nextLine, end } = await openLines(channel.receiver());
  expect(await nextLine()).toBe('one');
  // Three times as long as it is kept, by the server's clock.
  for (let index = 0; index < 6; index += 1) {
    await halfASecond();
    source.push(`${index}\n`);
    expect(await nextLine()).toBe(`${index}`);
  }
  source.push(null);
  await sending;
  expect(await nextLine()).toBeUndefined();
  await end();
  await sender.end();
  expect(await readAll(channel.receiver())).toEqual({});
});

test('a sender alone keeps its channel', async () => {
  const channel = new Channel(redis);
  const source = pushed();
  const sender = channel.sender({ keepMs: 1_000, lingerMs: 0 });
  const sending = sender.send(source, { name: 'a' });
  for (let index = 0; index < 6; index += 1) {
    source.push(`${index}\n`);
    await halfASecond();
  }
  source.push(null);
  await sending;
  await sender.end();
  expect(await channelKeys(channel)).toHaveLength(4);
});
