/** A sender, receivers, and what they leave behind, for the tests of files. */
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

/** Small ones, so that a few KB go through every case. */
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

/** Nobody comes in between. */
const RESTORE = `#!lua flags=allow-cross-slot-keys
for _, key in ipairs(redis.call('KEYS', ARGV[1])) do
  redis.call('DEL', key)
end
for i = 2, #ARGV, 2 do
  redis.call('RESTORE', ARGV[i], 0, ARGV[i + 1])
end`;

/** Notes what stands under keys of a pattern; the function brings it back, as a failover does with what was not replicated. */
export async function snapshot(redis: Redis, pattern: string): Promise<() => Promise<void>> {
  const keys = await redis.keys(pattern);
  const values = await Promise.all(keys.map(async (key) => redis.dumpBuffer(key)));
  const stored = keys.flatMap((key, index) => [key, values[index]!]);
  return async () => {
    await redis.eval(RESTORE, 0, pattern, ...stored);
  };
}

/** A directory of its own; removed by the function. */
export function freshDirectory(): [path: string, remove: () => void] {
  const path = mkdtempSync(join(tmpdir(), 'mortise-files-'));
  return [path, () => rmSync(path, { recursive: true })];
}
