import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';

import { StartFailedError } from './errors.js';
import { serverExited, serverStarted } from './reaper-pipe.js';

export interface Launch {
  path: string;
  args: string[];
  /** The absolute directory of the server. The reaper looks for it in `args`. */
  directory: string;
  /** Gets what the program prints, appended. */
  logFile: string;
  /** Added to the environment of this process. */
  env?: Record<string, string>;
  /** Whom the program runs as. @defaultValue the user of this process */
  user?: { uid: number; gid: number } | undefined;
  /** @defaultValue the working directory of this process */
  cwd?: string;
}

const TERMINATION_DEADLINE_MS = 2000;

/** One run of a server program, from its start to its end. */
export class ServerProcess {
  readonly pid: number;
  readonly #child: ChildProcess;
  #isPaused = false;

  private constructor(child: ChildProcess, pid: number) {
    this.#child = child;
    this.pid = pid;
  }

  static async start({ path, args, directory, logFile, env, user, cwd }: Launch): Promise<ServerProcess> {
    const log = openSync(logFile, 'a');
    const child = spawn(path, args, {
      env: { ...process.env, ...env },
      stdio: ['ignore', log, log],
      detached: true, // Ctrl-C in the terminal ends us; whether and when the server ends is for us to say
      ...user,
      ...(cwd !== undefined && { cwd }),
    });
    closeSync(log);
    const { pid } = child;
    if (pid === undefined) {
      const [error] = (await once(child, 'error')) as [Error];
      throw new StartFailedError(`${path} could not be started: ${error.message}`, { cause: error });
    }
    serverStarted(pid, directory);
    child.once('exit', () => serverExited(pid));
    child.unref();
    return new ServerProcess(child, pid);
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

  /** Ends the process, with SIGKILL when another signal hasn't worked after 2 s, and waits until it is gone. Idempotent. */
  async end(signal: NodeJS.Signals): Promise<void> {
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
