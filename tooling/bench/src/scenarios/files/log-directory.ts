/**
 * Directories with one log each, made once and gone when this process ends, also by an error or a signal that can be caught.
 * `MORTISE_FILES_SHARE=0.1` makes them all a tenth of their size: to try something, not to compare.
 */
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { mkdir, open, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeLog } from '../aggregation/log.js';

export const MIB = 2 ** 20;

export interface LogDirectory {
  readonly path: string;
  readonly bytes: number;
  readonly lines: number;
  readonly sha256: string;
}

const SHARE = Number(process.env['MORTISE_FILES_SHARE'] ?? 1);
const LINES_AT_ONCE = 150_000;
const NEWLINE = 10;

const made = new Map<number, Promise<LogDirectory>>();
let root: string | undefined;
let text: Buffer | undefined;

export function logDirectory(megabytes: number): Promise<LogDirectory> {
  let directory = made.get(megabytes);
  if (!directory) made.set(megabytes, (directory = make(Math.round(megabytes * SHARE * MIB))));
  return directory;
}

async function make(bytes: number): Promise<LogDirectory> {
  root ??= removedAtEnd();
  const { bavail, bsize } = await statfs(root);
  if (bavail * bsize < 1.1 * bytes) throw new Error(`${root} has no room for a file of ${bytes} bytes`);
  const path = join(root, String(bytes));
  await mkdir(path);
  text ??= makeLog(LINES_AT_ONCE);
  const hash = createHash('sha256');
  const file = await open(join(path, 'access.log'), 'wx');
  let lines = 0;
  try {
    for (let left = bytes, part = 0; left > 0; part += 1) {
      // So that no two parts are alike.
      const head = Buffer.from(`192.0.2.1 2026-11-20 00:00:00 GET /part/${part}\n`);
      const piece = Buffer.concat([head, text]).subarray(0, left);
      left -= piece.length;
      if (left === 0) piece[piece.length - 1] = NEWLINE;
      for (let at = piece.indexOf(NEWLINE); at >= 0; at = piece.indexOf(NEWLINE, at + 1)) lines += 1;
      hash.update(piece);
      await file.write(piece);
    }
  } finally {
    await file.close();
  }
  return { path, bytes, lines, sha256: hash.digest('hex') };
}

function removedAtEnd(): string {
  const path = mkdtempSync(join(tmpdir(), 'mortise-bench-'));
  process.once('exit', () => rmSync(path, { recursive: true, force: true }));
  for (const [signal, code] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
    ['SIGHUP', 129],
  ] as const) {
    process.once(signal, () => process.exit(code));
  }
  return path;
}
