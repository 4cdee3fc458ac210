import { execFile } from 'node:child_process';
import { constants } from 'node:fs';
import { access } from 'node:fs/promises';
import { delimiter, join } from 'node:path';

/** The environment of a process: `process.env`, or a test's own. */
export type Environment = Record<string, string | undefined>;

/** Full path of the first executable of that name in PATH, or `undefined`. */
export async function findOnPath(name: string, env: Environment): Promise<string | undefined> {
  for (const directory of (env['PATH'] ?? '').split(delimiter)) {
    if (directory === '') continue;
    const path = join(directory, name);
    if (await isExecutable(path)) return path;
  }
  return undefined;
}

export interface RunOptions {
  env: Environment;
  cwd?: string;
  /** Whom the program runs as; only root can choose. @defaultValue the user of this process */
  uid?: number;
  gid?: number;
}

/** How long a program that was just written may count as busy. */
const BUSY_MS = 20;
const MOST_TRIES = 50;

/** Runs a program to its end and returns what it printed on stdout; throws with its stderr when it fails. */
export async function run(path: string, args: string[], options: RunOptions): Promise<string> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await runOnce(path, args, options);
    } catch (error) {
      // A child of this process that is being started still has the file open for writing.
      if ((error as NodeJS.ErrnoException).code !== 'ETXTBSY' || tries === MOST_TRIES) throw error;
      await new Promise((resolve) => setTimeout(resolve, BUSY_MS));
    }
  }
}

async function runOnce(path: string, args: string[], options: RunOptions): Promise<string> {
  const settings = { encoding: 'utf8', maxBuffer: 16 * 1024 * 1024, ...options } as const;
  return new Promise((resolve, reject) => {
    execFile(path, args, settings, (error, stdout, stderr) => {
      if (error === null) resolve(stdout);
      else if (error.code === 'ETXTBSY') reject(error);
      else reject(new Error(`${path} ${args.at(-1) ?? ''}: ${stderr.trim() || error.message}`));
    });
  });
}

/** Whether a file exists that this user may run. */
export async function isExecutable(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
