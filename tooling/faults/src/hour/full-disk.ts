/**
 * Imitates a full disk, without root and without a disk of its own. The limit for the size of a server's files (RLIMIT_FSIZE) becomes the
 * size of its append-only file. Each write to the file then fails, as on a full disk: with EFBIG in place of ENOSPC.
 */
import { execFile } from 'node:child_process';
import { chmodSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { RedisServer } from '@mortise/redis-server';
import { findRedisServer } from '@mortise/redis-server';

const run = promisify(execFile);
/** Leaves room for small files. A Cluster node ends if it can't write its configuration. */
const LEAST_BYTES = 65_536;
const NOWHERE = 'prlimit is not on this machine';

/**
 * Makes this process start all servers by a shell that ignores SIGXFSZ. At the limit, this signal would end them. Call it before the first
 * server starts.
 */
export async function ignoreSizeSignal(directory: string): Promise<void> {
  const { path, env } = await findRedisServer({ env: process.env });
  const variables = Object.entries(env).map(([name, value]) => `export ${name}='${value}'\n`);
  const file = join(directory, 'redis-server');
  writeFileSync(file, `#!/bin/sh\ntrap '' XFSZ\n${variables.join('')}exec '${path}' "$@"\n`);
  chmodSync(file, 0o755);
  process.env['REDIS_SERVER_BIN'] = file;
}

/** Why this machine can't imitate a full disk; undefined if it can. */
export async function whyNoFullDisk(): Promise<string | undefined> {
  try {
    await run('prlimit', ['--version']);
    return undefined;
  } catch {
    return NOWHERE;
  }
}

/** Fills the disk of a server. The returned function frees it. */
export async function fillDisk(server: RedisServer): Promise<() => Promise<void>> {
  const directory = join(server.directory, 'appendonlydir');
  const sizes = readdirSync(directory)
    .filter((name) => name.endsWith('.incr.aof'))
    .map((name) => statSync(join(directory, name)).size);
  await limit(server, String(Math.max(LEAST_BYTES, ...sizes)));
  return () => limit(server, 'unlimited');
}

async function limit({ pid }: RedisServer, bytes: string): Promise<void> {
  await run('prlimit', ['--pid', String(pid), `--fsize=${bytes}:`]);
}
