/** Files that were left open by senders which died while another one of the same host was at work: it sees to them, whatever it does. */
import { appendFileSync, mkdirSync, renameSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeEach, expect, test } from '@jest/globals';
import type { FileSender } from '@mortise/messaging';
import { connect, transcript, until } from '@mortise/test-kit';
import * as scripts from '../src/scripts.gen.js';
import { Channel, freshDirectory, lines, SMALL, textOf } from './files-fixture.js';

const redis = connect();
const [root, removeRoot] = freshDirectory();
afterAll(removeRoot);

const QUICK = { leaseMs: 100, lingerMs: 0 };
let directory: string;
let log: string;
let channel: Channel;
let sender: FileSender;

beforeEach(async () => {
  directory = join(root, String(performance.now()));
  mkdirSync(directory);
  log = join(directory, 'access.log');
  channel = new Channel(redis);
  sender = channel.sender(QUICK);
  // It has looked for what was left, and found nothing.
  writeFileSync(join(directory, 'other.log'), 'other\n');
  await sender.send(join(directory, 'other.log'));
});

// Of its own, so that what waits on it holds nobody up.
const waiting = connect();

/** What another sender has begun, until it died; and was rotated then. */
async function leave(text: string): Promise<void> {
  writeFileSync(log, text);
  const stop = new AbortController();
  const left = channel.sender(QUICK).send(log, {
    follow: new AbortController().signal,
    signal: stop.signal,
    onProgress: () => stop.abort(),
  });
  await expect(left).rejects.toMatchObject({ name: 'AbortError' });
  renameSync(log, `${log}.1`);
  appendFileSync(`${log}.1`, 'the last line\n');
}

/** By their names, as they come; what is aborted by the code of that. */
function collect(): { readonly files: Map<string, string>; readonly stop: () => Promise<void> } {
  const files = new Map<string, string>();
  const ending = new AbortController();
  const reading = (async () => {
    for await (const file of channel.receiver().files({ signal: ending.signal })) {
      try {
        files.set(file.name, await textOf(file));
        await file.done();
      } catch (error) {
        if (ending.signal.aborted) throw error;
        files.set(file.name, (error as { code: string }).code);
        await file.fail();
      }
    }
  })();
  reading.catch(() => undefined);
  return {
    files,
    stop: async () => {
      ending.abort();
      await reading.catch(() => undefined);
    },
  };
}

test('by one that waits until all is received', async () => {
  await leave('1\n');
  const collected = collect();
  await sender.received();
  await collected.stop();
  expect(collected.files.get('access.log')).toBe('1\nthe last line\n');
});

test('by one that follows a log to which nothing is written', async () => {
  const quiet = join(directory, 'quiet.log');
  writeFileSync(quiet, 'quiet\n');
  const follow = new AbortController();
  const following = sender.send(quiet, { follow: follow.signal });
  await leave('1\n');
  await until('its end', async () => {
    const [key] = await redis.keys(`${channel.prefix}:messaging:{*%%3}:file:*`);
    return key !== undefined && (await redis.hget(key, 'state')) === 'closed';
  });
  follow.abort();
  await following;
  const collected = collect();
  await sender.received();
  await collected.stop();
  expect(collected.files.get('access.log')).toBe('1\nthe last line\n');
});

test('by one that waits for room for something else', async () => {
  sender = channel.sender({ ...QUICK, budgetBytes: SMALL.windowBytes });
  await sender.received({ signal: AbortSignal.timeout(1) }).catch(() => undefined);
  await leave('1\n');
  const collected = collect();
  await sender.send(Buffer.from(lines(800)), { name: 'b' });
  await sender.received();
  await collected.stop();
  expect(collected.files.get('access.log')).toBe('1\nthe last line\n');
  expect(collected.files.get('b')).toBe(lines(800));
});

test('by one that follows another log, also where it is gone: nobody stands at it', async () => {
  const other = join(directory, 'followed.log');
  writeFileSync(other, '1\n');
  await leave('1\n');
  unlinkSync(`${log}.1`);
  const follow = new AbortController();
  const following = sender.send(other, { follow: follow.signal });
  const collected = collect();
  await until('its being given up', () => collected.files.has('access.log'));
  follow.abort();
  await following;
  await sender.received();
  expect(collected.files.get('access.log')).toBe('ERR_FILE_ABORTED');
  expect(collected.files.get('followed.log')).toBe('1\n');
  await collected.stop();
});

test('by one that sends the directory into which it was moved', async () => {
  const elsewhere = join(root, `elsewhere ${performance.now()}`);
  mkdirSync(elsewhere);
  await leave('1\n');
  renameSync(`${log}.1`, join(elsewhere, 'z.log'));
  // It fills the window, and nobody reads it yet.
  writeFileSync(join(elsewhere, 'a.log'), lines(2_000));
  const sending = sender.sendDirectory(elsewhere);
  await until('its end', async () => {
    const [key] = await redis.keys(`${channel.prefix}:messaging:{*%%2}:file:*`);
    return key !== undefined && (await redis.hget(key, 'state')) !== 'open';
  });
  const collected = collect();
  await sending;
  await sender.received();
  await collected.stop();
  expect(collected.files.get('access.log')).toBe('1\nthe last line\n');
  expect(collected.files.get('a.log')).toBe(lines(2_000));
});

test('not while whoever has begun it is alive', async () => {
  writeFileSync(log, '1\n');
  const follow = new AbortController();
  const alive = channel.sender({ ...QUICK, quietMs: 60_000 });
  const following = alive.send(log, { follow: follow.signal });
  const collected = collect();
  await until('its beginning', async () => (await redis.keys(`${channel.prefix}:*%%2}:file:*`)).length > 0);
  renameSync(log, `${log}.1`);
  const received = sender.received();
  await redis.blpop(`${channel.prefix}:nothing`, 0.5);
  appendFileSync(`${log}.1`, '2\n');
  follow.abort();
  expect(await following).toMatchObject({ bytes: 4, isDuplicate: false });
  await received;
  await collected.stop();
  expect(collected.files.get('access.log')).toBe('1\n2\n');
});

test('and asks for none of what is listed that is of no path, however often it looks, nor for what was listed before', async () => {
  const stop = new AbortController();
  const collected = collect();
  await sender.received();
  await collected.stop();
  for (const id of ['b', 'c', 'd']) await sender.send(Buffer.from(id), { name: id, id });
  const received = sender.received({ signal: stop.signal });
  received.catch(() => undefined);
  const looks = async (): Promise<string[]> => {
    const seen = await transcript(redis, { prefix: channel.prefix, scripts }, async () =>
      waiting.blpop(`${channel.prefix}:nothing`, 0.5),
    );
    return seen
      .map((line) => line.replaceAll(`messaging:{${channel.name}`, '{c'))
      .filter((line) =>
        /^(zrange \S+:files|hget \S+:file:\S+|hgetall .*|evalsha_ro files\.left .*)$/.test(line),
      );
  };
  await looks();
  const seen = await looks();
  expect(seen.length).toBeGreaterThan(1);
  expect(new Set(seen)).toEqual(new Set(['hgetall {c}:files-listed']));
  stop.abort();
});
