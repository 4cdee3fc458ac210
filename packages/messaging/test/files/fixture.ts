/** A sender, receivers and their keys, for the tests of files. */
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FileReceiver, FileSender } from '@mortise/messaging/files';
import type { FileSenderOptions, IncomingFile, ReadOptions } from '@mortise/messaging/files';
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

/** A new directory, and a function that removes it. */
export function freshDirectory(): [path: string, remove: () => void] {
  const path = mkdtempSync(join(tmpdir(), 'mortise-files-'));
  return [path, () => rmSync(path, { recursive: true })];
}
