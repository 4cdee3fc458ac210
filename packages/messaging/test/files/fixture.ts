/** A sender, receivers and their keys, for the tests of files. */
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterAll, expect } from '@jest/globals';
import { FileChannel, FileReceiver, FileSender } from '@mortise/messaging/files';
import type { FileSenderOptions, IncomingFile, ReadOptions, SendFileOptions } from '@mortise/messaging/files';
import type { RedisClient, Telemetry } from '@mortise/redis';
import { freshPrefix } from '@mortise/test-kit';
import type { Redis } from 'ioredis';

const KIB = 1_024;

/** Small limits, so that a few KB reach every case. */
export const SMALL = {
  chunkBytes: 4 * KIB,
  windowBytes: 16 * KIB,
  budgetBytes: 64 * KIB,
  leaseMs: 300,
  graceMs: 200,
};

export class Channel {
  readonly prefix = freshPrefix();
  readonly name = `logs ${randomUUID()}`;

  constructor(readonly redis: RedisClient) {}

  sender(options: Partial<FileSenderOptions> = {}, redis = this.redis): FileSender {
    return new FileSender(redis, this.name, {
      ...SMALL,
      receivers: ['r1'],
      prefix: this.prefix,
      ...options,
    });
  }

  receiver(name = 'r1', redis = this.redis, leaseMs = 300, telemetry?: Telemetry): FileReceiver {
    const options = { prefix: this.prefix, leaseMs, ...(telemetry && { telemetry }) };
    return new FileReceiver(redis, this.name, name, options);
  }

  /** For a service whose processes are one holder. */
  files(holder = 'http', redis = this.redis, leaseMs = 60_000): FileChannel {
    return new FileChannel(redis, this.name, { prefix: this.prefix, holder, leaseMs });
  }

  /** The key of a part of the channel. */
  key(part: string): string {
    return `${this.prefix}:messaging:{${this.name}}:${part}`;
  }

  /** Its keys, sorted, without the prefix and the hash tag. */
  async keys(): Promise<string[]> {
    const found = (await this.redis.call('keys', [`${this.prefix}:*`])) as string[];
    return found.map((key) => key.slice(key.indexOf('}:') + 2)).toSorted();
  }
}

/** All files of a receiver, as text, until the channel ends. */
export async function readAll(
  receiver: FileReceiver,
  options: ReadOptions = {},
): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for await (const file of receiver.files()) {
    found[file.name] = (found[file.name] ?? '') + (await textOf(file, options));
    await file.done();
  }
  return found;
}

export async function textOf(file: IncomingFile, options: ReadOptions = {}): Promise<string> {
  const blocks: Buffer[] = [];
  for await (const block of file.blocks(options)) blocks.push(block);
  return Buffer.concat(blocks).toString();
}

/** Reads the next file of a receiver, and is done with it. Returns its text. */
export async function readNext(receiver: FileReceiver): Promise<string> {
  const [file, leave] = await first(receiver);
  const text = await textOf(file);
  await file.done();
  await leave();
  return text;
}

/** Gives up the next file of a receiver, unread. */
export async function failNext(receiver: FileReceiver): Promise<void> {
  const [file, leave] = await first(receiver);
  await file.fail();
  await leave();
}

/** Sends the first chunk of a source, and leaves the file open. */
export async function sendPart(
  sender: FileSender,
  source: Parameters<FileSender['send']>[0],
  options: SendFileOptions,
): Promise<void> {
  const stop = new AbortController();
  const sending = sender.send(source, { ...options, signal: stop.signal, onProgress: () => stop.abort() });
  await expect(sending).rejects.toMatchObject({ name: 'AbortError' });
}

/** A source whose bytes are pushed. */
export function pushed(...texts: string[]): Readable {
  const source = new Readable({ read: () => undefined });
  for (const text of texts) source.push(text);
  return source;
}

/** The next file of a receiver, line by line: undefined at its end. */
export async function openLines(
  receiver: FileReceiver,
): Promise<{ nextLine: () => Promise<string | undefined>; end: () => Promise<void> }> {
  const [file, leave] = await first(receiver);
  const reading = file.lines()[Symbol.asyncIterator]();
  return {
    nextLine: async () => (await reading.next()).value,
    end: async () => {
      await file.done();
      await leave();
    },
  };
}

/** The next file of a receiver. */
export async function first(receiver: FileReceiver): Promise<[IncomingFile, () => Promise<unknown>]> {
  const files = receiver.files();
  const { value } = await files.next();
  if (!value) throw new Error('the channel has ended');
  return [value, () => files.return()];
}

export function lines(count: number, from = 0): string {
  return Array.from({ length: count }, (_, index) => `line ${from + index} of a log\n`).join('');
}

/** One script, so no other command runs between its steps. */
const RESTORE = `#!lua flags=allow-cross-slot-keys
for _, key in ipairs(redis.call('KEYS', ARGV[1])) do
  redis.call('DEL', key)
end
for i = 2, #ARGV, 2 do
  redis.call('RESTORE', ARGV[i], 0, ARGV[i + 1])
end`;

/** Saves the keys of a pattern. The function restores them, as a failover loses writes that were not replicated. */
export async function snapshot(redis: Redis, pattern: string): Promise<() => Promise<void>> {
  const keys = await redis.keys(pattern);
  const values = await Promise.all(keys.map(async (key) => redis.dumpBuffer(key)));
  const stored = keys.flatMap((key, index) => [key, values[index]!]);
  return async () => {
    await redis.eval(RESTORE, 0, pattern, ...stored);
  };
}

/** A new directory, removed after the tests of the file, and a function that writes a file in it. */
export function freshDirectory(): {
  readonly directory: string;
  readonly pathOf: (name: string, text: string) => string;
} {
  const directory = mkdtempSync(join(tmpdir(), 'mortise-files-'));
  afterAll(() => rmSync(directory, { recursive: true }));
  const pathOf = (name: string, text: string): string => {
    const path = join(directory, name);
    writeFileSync(path, text);
    return path;
  };
  return { directory, pathOf };
}
