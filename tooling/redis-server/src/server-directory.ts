import { mkdir, mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { directoryMade, directoryRemoved, StartFailedError } from '@mortise/server-process';

import { request } from './resp.js';

/** The port of the server that was started in the directory last. */
const PORT_FILE = 'redis.port';

/** The directory of a server: the caller's, which is kept, or a temporary one, which doesn't outlive this process. */
export class ServerDirectory {
  /** Absolute and without symbolic links, as the server reports it. */
  readonly path: string;
  readonly isTemporary: boolean;

  private constructor(path: string, isTemporary: boolean) {
    this.path = path;
    this.isTemporary = isTemporary;
  }

  /** Makes the directory. Refuses one in which a server runs: two servers that append to one file destroy it. */
  static async make(path: string | undefined, password?: string): Promise<ServerDirectory> {
    if (path === undefined) {
      const temporary = await realpath(await mkdtemp(join(tmpdir(), 'mortise-redis-')));
      directoryMade(temporary);
      return new ServerDirectory(temporary, true);
    }
    await mkdir(path, { recursive: true });
    const directory = new ServerDirectory(await realpath(path), false);
    await directory.#assertUnused(password);
    return directory;
  }

  /** Before each start: makes a temporary directory that was removed again, and notes the port. */
  async prepare(port: number): Promise<void> {
    await mkdir(this.path, { recursive: true });
    if (this.isTemporary) directoryMade(this.path);
    await writeFile(join(this.path, PORT_FILE), String(port));
  }

  /** Removes the directory, if it is temporary. */
  async discard(): Promise<void> {
    if (!this.isTemporary) return;
    await rm(this.path, { recursive: true, force: true, maxRetries: 5 });
    directoryRemoved(this.path);
  }

  async #assertUnused(password: string | undefined): Promise<void> {
    const port = Number(await readFile(join(this.path, PORT_FILE), 'utf8').catch(() => '0'));
    if (port === 0) return;
    const options = { timeoutMs: 1000, password };
    const reply = await request(port, ['CONFIG', 'GET', 'dir'], options).catch(() => null);
    if (!Array.isArray(reply) || reply[1] !== this.path) return;
    throw new StartFailedError(`${this.path} is in use by the server on port ${port}`);
  }
}
