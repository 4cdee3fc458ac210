/** A path is told by what it is: sent once, whatever its name, and gone on with where it has grown. */
import {
  appendFileSync,
  mkdirSync,
  renameSync,
  rmSync,
  truncateSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeEach, expect, test } from '@jest/globals';
import type { FileSender, IncomingFile, SentFile } from '@mortise/messaging';
import { connect, until } from '@mortise/test-kit';
import { Channel, freshDirectory, lines, textOf } from './files-fixture.js';

const redis = connect();
const [root, removeRoot] = freshDirectory();
afterAll(removeRoot);

let directory: string;
let log: string;
let channel: Channel;
let sender: FileSender;

beforeEach(() => {
  directory = join(root, String(performance.now()));
  mkdirSync(directory);
  log = join(directory, 'access.log');
  channel = new Channel(redis);
  sender = channel.sender({ lingerMs: 5 });
});

/** Name and content of what has come until now. */
async function received(by = sender): Promise<[string, string][]> {
  const found: [string, string][] = [];
  const ending = new AbortController();
  const reading = (async () => {
    for await (const file of channel.receiver().files({ signal: ending.signal })) {
      found.push([file.name, await textOf(file)]);
      await file.done();
    }
  })();
  await by.received();
  ending.abort();
  await reading.catch(() => undefined);
  return found;
}

const what = ({ bytes, isDuplicate }: SentFile): [number, boolean] => [bytes, isDuplicate];

test('what has grown is sent behind what was sent, as the next file; what has not is not sent again', async () => {
  writeFileSync(log, 'one\n');
  expect(what(await sender.send(log))).toEqual([4, false]);
  expect(what(await sender.send(log))).toEqual([0, true]);
  appendFileSync(log, 'two\n');
  expect(what(await sender.send(log))).toEqual([4, false]);
  expect(what(await channel.sender().send(log))).toEqual([0, true]);
  expect(await received()).toEqual([
    ['access.log', 'one\n'],
    ['access.log', 'two\n'],
  ]);
  // Also when all are done with it.
  expect(what(await sender.send(log))).toEqual([0, true]);
  appendFileSync(log, lines(1_000));
  let sending: Promise<SentFile> | undefined;
  await new Promise<unknown>((onListed) => {
    sending = sender.send(log, { onListed });
  });
  expect(await received()).toEqual([['access.log', lines(1_000)]]);
  expect(what(await sending!)).toEqual([lines(1_000).length, false]);
});

test.each([
  { how: 'shorter', text: 'day 2\n' },
  { how: 'as long', text: 'other\nfiles\n' },
  { how: 'longer', text: 'day 2 line 1\nday 2 line 2\n' },
  { how: 'longer, with the same beginning and another middle', text: 'day 1\nline 3\nline 4\n' },
])('what was truncated and written anew, $how, is sent from its beginning', async ({ text }) => {
  writeFileSync(log, 'day 1\nline2\n');
  await sender.send(log);
  truncateSync(log);
  appendFileSync(log, text);
  expect(what(await sender.send(log))).toEqual([text.length, false]);
  expect(what(await sender.send(log))).toEqual([0, true]);
  expect((await received()).at(-1)).toEqual(['access.log', text]);
});

test('followed again and again, a log is waited for: what it grows by, and what it becomes', async () => {
  const stop = new AbortController();
  writeFileSync(log, 'one\n');
  await sender.send(log);
  const sent: [number, boolean][] = [];
  const following = (async () => {
    while (!stop.signal.aborted) sent.push(what(await sender.send(log, { follow: stop.signal })));
  })();
  const files = channel.receiver().files();
  const next = async (): Promise<IncomingFile> => (await files.next()).value as IncomingFile;
  const whole = async (text: string): Promise<void> => {
    const file = await next();
    expect(await textOf(file)).toBe(text);
    await file.done();
  };
  await whole('one\n');
  appendFileSync(log, 'two\n');
  const file = await next();
  const reading = file.lines()[Symbol.asyncIterator]();
  expect(await reading.next()).toMatchObject({ value: 'two' });
  truncateSync(log);
  expect(await reading.next()).toMatchObject({ done: true });
  await file.done();
  appendFileSync(log, 'three\n');
  const anew = await next();
  const readingOn = anew.lines()[Symbol.asyncIterator]();
  expect(await readingOn.next()).toMatchObject({ value: 'three' });
  stop.abort();
  expect(await readingOn.next()).toMatchObject({ done: true });
  await anew.done();
  await following;
  await files.return();
  // One turn for each, and none in between.
  expect(sent).toEqual([
    [4, false],
    [6, false],
  ]);
});

test('a name is no part of it: logs that are rotated by renaming are not sent again', async () => {
  writeFileSync(join(directory, 'access.log.1'), 'day 1\n');
  await sender.sendDirectory(directory);
  renameSync(join(directory, 'access.log.1'), join(directory, 'access.log.2'));
  writeFileSync(join(directory, 'access.log.1'), 'day 2\n');
  const sent = await sender.sendDirectory(directory);
  expect(sent.map(({ name, isDuplicate }) => [name, isDuplicate])).toEqual([
    ['access.log.1', false],
    ['access.log.2', true],
  ]);
  expect((await received()).map(([, text]) => text)).toEqual(['day 1\n', 'day 2\n']);
});

/** A sender of this host that has sent the log as far as it goes, and is gone. */
async function leftOpen(): Promise<void> {
  const stop = new AbortController();
  const left = channel.sender({ leaseMs: 100, lingerMs: 0 }).send(log, {
    follow: new AbortController().signal,
    signal: stop.signal,
    onProgress: () => stop.abort(),
  });
  await expect(left).rejects.toMatchObject({ name: 'AbortError' });
}

test('a log that was rotated while nobody sent it is sent on from its new name, and before the new one', async () => {
  writeFileSync(log, 'one\n');
  await leftOpen();
  appendFileSync(log, 'two\n');
  renameSync(log, `${log}.1`);
  writeFileSync(log, 'three\n');
  expect(what(await sender.send(log))).toEqual([6, false]);
  expect(what(await sender.send(`${log}.1`))).toEqual([0, true]);
  expect(await received()).toEqual([
    ['access.log', 'one\ntwo\n'],
    ['access.log', 'three\n'],
  ]);
});

test('a log that is gone is aborted by the next sender of this host, and holds nobody up; not by that of another host', async () => {
  writeFileSync(log, 'one\n');
  await leftOpen();
  // The next one must not get its inode.
  const next = join(directory, 'next.log');
  writeFileSync(next, 'two\n');
  unlinkSync(log);
  await channel.sender({ host: 'another' }).send(next);
  const [state] = await states();
  expect(state).toBe('open');
  writeFileSync(next, 'three\n', { flag: 'a' });
  await sender.send(next);
  const found: string[] = [];
  await sender.end();
  for await (const file of channel.receiver().files()) {
    found.push(await textOf(file).catch(({ code }: { code: string }) => code));
    await file.fail();
  }
  expect(found).toEqual(['ERR_FILE_ABORTED', 'two\n', 'two\nthree\n']);
});

async function states(): Promise<(string | null)[]> {
  const keys = await redis.keys(`${channel.prefix}:*:file:*`);
  return Promise.all(keys.toSorted().map(async (key) => redis.hget(key, 'state')));
}

test('a sender that died before it ended the file, but had noted how far: the next one ends it, where it is now', async () => {
  writeFileSync(log, 'one\n');
  await leftOpen();
  const key = `${channel.prefix}:messaging:{${channel.name}}:files-sent`;
  const [[identity, record]] = Object.entries(await redis.hgetall(key)) as [[string, string]];
  // Up to its fourth byte, with the print of these.
  const other = new Channel(redis);
  await other.sender().send(log);
  const [noted] = await redis.hvals(`${other.prefix}:messaging:{${other.name}}:files-sent`);
  await redis.hset(key, identity, record.split(' ')[0] + noted!.slice(noted!.indexOf(' ')));
  renameSync(log, `${log}.1`);
  writeFileSync(log, 'two\n');
  await sender.send(log);
  expect(await received()).toEqual([
    ['access.log', 'one\n'],
    ['access.log', 'two\n'],
  ]);
});

test('a log that was truncated while nobody sent it: what was begun is aborted, and all of it is a new file', async () => {
  writeFileSync(log, 'one\n');
  await leftOpen();
  truncateSync(log);
  appendFileSync(log, 'anew\n');
  expect(what(await sender.send(log))).toEqual([5, false]);
  // Aborted, and closed.
  await until('two files', async () => new Set(await states()).size === 2);
});

test('gzip that has grown goes on behind what was sent if a member begins there, and is sent whole otherwise', async () => {
  const path = join(directory, 'a.gz');
  writeFileSync(path, gzipSync('one'));
  await sender.send(path);
  writeFileSync(path, gzipSync('two'), { flag: 'a' });
  expect((await sender.send(path)).bytes).toBe(gzipSync('two').length);
  expect((await received()).map(([, text]) => text)).toEqual(['one', 'two']);
  const cut = join(directory, 'b.gz');
  const whole = gzipSync(lines(100));
  writeFileSync(cut, whole.subarray(0, 50));
  await sender.send(cut, { gzip: false });
  writeFileSync(cut, whole);
  expect((await sender.send(cut)).bytes).toBe(whole.length);
});

test('two senders that send a path at the same time send it once', async () => {
  writeFileSync(log, lines(200));
  const sent = await Promise.all([channel.sender().send(log), channel.sender().send(log)]);
  expect(sent.filter(({ isDuplicate }) => isDuplicate)).toHaveLength(1);
  expect(await received()).toEqual([['access.log', lines(200)]]);
});

test('a name that is no UTF-8 is sent with what is none of it replaced', async () => {
  writeFileSync(Buffer.concat([Buffer.from(`${directory}/`), Buffer.from([0xff, 0x61])]), 'x');
  await sender.sendDirectory(directory);
  expect(await received()).toEqual([['\uFFFDa', 'x']]);
  rmSync(directory, { recursive: true });
});
