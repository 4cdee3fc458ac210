/** The entry of files: its types, what it refuses, and what it loads. */
import { randomUUID } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { expect, test } from '@jest/globals';
import { ClientClosedError, FileChannel, FileReceiver, Files, FileSender } from '@mortise/messaging/files';
import type { IncomingFile, SentFile } from '@mortise/messaging/files';
import { connect } from '@mortise/test-kit';

const redis = connect();
const receivers = ['r1'];

test('results are typed', () => {
  const sender = new FileSender(redis, 'logs', { receivers });
  const receiver = new FileReceiver(redis, 'logs', 'r1');
  const use = async (): Promise<void> => {
    const sent: SentFile = await sender.send('/nowhere', { name: 'a' });
    // @ts-expect-error -- what was sent does not change
    sent.bytes = 1;
    await sender.send(Buffer.from('x'), { name: 'a' });
    // @ts-expect-error -- a source is a path, a Readable, an iterable of bytes, or bytes
    await sender.send(1, { name: 'a' });
    // @ts-expect-error -- a directory gives the names
    await sender.sendDirectory('/nowhere', { name: 'a' });
    for await (const file of receiver.files()) {
      const incoming: IncomingFile = file;
      for await (const line of incoming.lines()) line.toUpperCase();
      // @ts-expect-error -- lines are whole already
      incoming.lines({ wholeLines: false });
      for await (const block of incoming.blocks()) block.readUInt8(0);
    }
  };
  expect(use).toBeInstanceOf(Function);
});

test('misuse is refused at construction', () => {
  const invalid = expect.objectContaining({ code: 'ERR_INVALID_ARG' });
  // @ts-expect-error -- the receivers have to be named
  expect(() => new FileSender(redis, 'logs')).toThrow(TypeError);
  // @ts-expect-error -- as an array
  expect(() => new FileSender(redis, 'logs', { receivers: 'r1' })).toThrow(invalid);
  // @ts-expect-error -- of strings
  expect(() => new FileSender(redis, 'logs', { receivers: [1] })).toThrow(TypeError);
  expect(() => new FileSender(redis, '', { receivers })).toThrow(RangeError);
  const unknown = {
    code: 'ERR_INVALID_ARG',
    message: expect.stringMatching(/has no option "ttl"; there are/),
  };
  const ttl: object = { ttl: 1 };
  for (const refused of [
    () => new FileSender(redis, 'logs', { receivers, ...ttl }),
    () => new FileReceiver(redis, 'logs', 'r1', ttl),
    () => new FileChannel(redis, 'logs', ttl),
    () => new Files(redis, undefined, ttl),
  ]) {
    expect(refused).toThrow(expect.objectContaining(unknown));
  }
  expect(() => new FileReceiver(redis, 'logs', '')).toThrow(RangeError);
  expect(() => new FileReceiver(redis, 'logs', 'r1', { leaseMs: 99 })).toThrow('leaseMs');
  expect(() => new FileChannel(redis, '')).toThrow(RangeError);
  expect(() => new FileChannel({} as never, 'a')).toThrow(TypeError);
  for (const [option, value] of Object.entries({ holder: '', leaseMs: 1, keepMs: 1 })) {
    expect(() => new FileChannel(redis, 'a', { [option]: value })).toThrow(option);
  }
  const wrong: [string, object][] = [
    ['receivers', { receivers: [] }],
    ['receivers', { receivers: [''] }],
    ['chunkBytes', { chunkBytes: 5_000 }],
    ['chunkBytes', { chunkBytes: 2_048 }],
    ['chunkBytes', { chunkBytes: Number.NaN }],
    ['windowBytes', { chunkBytes: 1_048_576, windowBytes: 4 * 1_048_576 - 1 }],
    ['windowBytes', { windowBytes: Infinity }],
    ['budgetBytes', { budgetBytes: 32 * 1_048_576 - 1 }],
    ['lingerMs', { lingerMs: -1 }],
    ['leaseMs', { leaseMs: 0 }],
    ['keepMs', { keepMs: 999 }],
    ['graceMs', { graceMs: -1 }],
    ['deadReceivers', { deadReceivers: 'kill' }],
  ];
  for (const [option, options] of wrong) {
    const create = (): FileSender => new FileSender(redis, 'logs', { receivers, ...options });
    expect(create).toThrow(option);
    expect(create).toThrow(invalid);
  }
});

test('misuse of a file is refused', async () => {
  const sender = new FileSender(redis, 'logs', { receivers });
  // @ts-expect-error -- a Readable or a path
  await expect(sender.send(5, { name: 'a' })).rejects.toThrow(TypeError);
  await expect(sender.send(import.meta.dirname)).rejects.toMatchObject({ code: 'ERR_INVALID_ARG' });
  // The call fails, not the first step of the iteration.
  const receiver = new FileReceiver(redis, 'logs', 'r1');
  expect(() => receiver.files({ ms: 1 } as object)).toThrow('files has no option "ms"');
  const follow: object = { host: 'a' };
  await expect(sender.send('/nowhere', follow)).rejects.toThrow('send has no option "host"');
  await expect(sender.sendDirectory('/nowhere', { id: 'a' } as object)).rejects.toThrow('has no option');
  await expect(sender.received({ ms: 1 } as object)).rejects.toThrow('received has no option "ms"');
  const channel = new FileChannel(redis, 'logs');
  await expect(channel.list('r1', { wait: 1 } as object)).rejects.toThrow('list has no option "wait"');
  await expect(sender.send('/nowhere/at/all')).rejects.toMatchObject({ code: 'ENOENT' });
});

test('a sender whose client is closed fails with the exported ClientClosedError', async () => {
  const own = connect();
  const sender = new FileSender(own, `closed ${randomUUID()}`, { receivers });
  await sender.send(Buffer.from('x'), { name: 'a' });
  const waiting = sender.received();
  own.disconnect();
  await expect(waiting).rejects.toBeInstanceOf(ClientClosedError);
});

const src = join(import.meta.dirname, '../../src');

/** All modules that a module loads, itself included. */
function loadedBy(path: string, seen = new Set<string>()): Set<string> {
  if (seen.has(path) || !existsSync(path)) return seen;
  seen.add(path);
  const imports = readFileSync(path, 'utf8').matchAll(/^(?:import|export) (?!type )[^;]*from '(\.[^']+)'/gm);
  for (const [, target] of imports) {
    loadedBy(join(dirname(path), target!.replace(/\.js$/, '.ts')), seen);
  }
  return seen;
}

test('the entry of files loads nothing of chats, and the main entry only the metrics of files', () => {
  const loaded = (entry: string): string[] =>
    [...loadedBy(join(src, entry))].map((path) => relative(src, path)).toSorted();
  const shared = loaded('files/index.ts').filter((path) => !path.startsWith('files/'));
  expect(shared).toEqual(['persist.ts', 'scripts.gen.ts']);
  const ofFiles = loaded('index.ts').filter((path) => path.startsWith('files/'));
  expect(ofFiles.filter((path) => path !== 'files/metrics.ts')).toEqual([]);
});
