import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';

import type { RedisBinary } from './binary.js';
import { StartFailedError } from './errors.js';
import { serverExited, serverStarted } from './reaper-pipe.js';

/** In the directory of the server. */
export const LOG_FILE = 'redis.log';

const TERMINATION_DEADLINE_MS = 2000;

/** One run of a server program, from its start to its end. */
export class RedisProcess {
  readonly pid: number;
  readonly #child: ChildProcess;
  #isPaused = false;

  private constructor(child: ChildProcess, pid: number) {
    this.#child = child;
    this.pid = pid;
  }

  /** Starts the program, with its output in the log of `directory`, which must stand in `args` for the reaper's sake. */
  static async start(binary: RedisBinary, args: string[], directory: string): Promise<RedisProcess> {
    const log = openSync(join(directory, LOG_FILE), 'a');
    const child = spawn(binary.path, args, {
      env: { ...process.env, ...binary.env },
      stdio: ['ignore', log, log],
      detached: true, // Ctrl-C in the terminal ends us; whether and when the server ends is for us to say
    });
    closeSync(log);
    const { pid } = child;
    if (pid === undefined) {
      const [error] = (await once(child, 'error')) as [Error];
      throw new StartFailedError(`${binary.path} could not be started: ${error.message}`, { cause: error });
    }
    serverStarted(pid, directory);
    child.once('exit', () => serverExited(pid));
    child.unref();
    return new RedisProcess(child, pid);
  }

  get isRunning(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  get isPaused(): boolean {
    return this.#isPaused;
  }

  pause(): void {
    this.#isPaused = this.#child.kill('SIGSTOP');
  }

  resume(): void {
    this.#child.kill('SIGCONT');
    this.#isPaused = false;
  }

  /** Ends the process, with SIGKILL when SIGTERM hasn't worked after 2 s, and waits until it is gone. Idempotent. */
  async end(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    if (!this.isRunning) return;
    const exit = once(this.#child, 'exit');
    this.#child.ref(); // else this process might end before the server has
    this.#child.kill(signal);
    this.resume(); // a paused process sees SIGTERM only then
    const timer = setTimeout(() => this.#child.kill('SIGKILL'), TERMINATION_DEADLINE_MS);
    await exit;
    clearTimeout(timer);
  }
}
