/** Data that takes long to load is loaded once: further servers read the file that the first one has written. */
import type { Redis } from 'ioredis';
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const FILE = 'dump.rdb';
const taken = new Set<string>();
let folder: string | undefined;

function fileOf(name: string): string {
  if (folder === undefined) {
    const made = mkdtempSync(join(tmpdir(), 'mortise-bench-'));
    process.once('exit', () => rmSync(made, { recursive: true, force: true }));
    folder = made;
  }
  return join(folder, `${encodeURIComponent(name)}.rdb`);
}

async function fileOfServer(redis: Redis): Promise<string> {
  const [, directory] = (await redis.config('GET', 'dir')) as [string, string];
  return join(directory, FILE);
}

/** Fills an empty server with what one of this name had. False if there was none. */
export async function restoreSnapshot(redis: Redis, name: string): Promise<boolean> {
  if (!taken.has(name)) return false;
  copyFileSync(fileOf(name), await fileOfServer(redis));
  await redis.call('DEBUG', 'RELOAD', 'NOSAVE');
  return true;
}

export async function takeSnapshot(redis: Redis, name: string): Promise<void> {
  await redis.save();
  copyFileSync(await fileOfServer(redis), fileOf(name));
  taken.add(name);
}
