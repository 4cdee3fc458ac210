/** One process of an image: without root, in folders that it can't write to, with nothing of this machine's environment. */
import { spawn, spawnSync, type ChildProcess, type SpawnOptions } from 'node:child_process';
import { once } from 'node:events';
import { serverExited, serverStarted } from '@mortise/server-process';

import type { Image } from './image.js';

/** Where this process is root, the container is `nobody`, whom the files of the image don't belong to. */
const user = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};

export class Container {
  readonly #image: Image;
  readonly #options: SpawnOptions;
  readonly #process: ChildProcess;
  #output = '';

  private constructor(image: Image, options: SpawnOptions, process_: ChildProcess) {
    this.#image = image;
    this.#options = options;
    this.#process = process_;
    for (const stream of [process_.stdout, process_.stderr])
      stream?.on('data', (chunk: Buffer) => (this.#output += chunk.toString()));
  }

  /** Starts the command of the image with the variables of the image and these. */
  static start(image: Image, variables: Readonly<Record<string, string>>): Container {
    const nowhere = '/nonexistent';
    const env = { ...image.environment, ...variables, HOME: nowhere, TMPDIR: nowhere };
    const options = { cwd: image.folder, env, ...user };
    const [program, ...args] = image.command;
    const started = spawn(programOf(image, program), args, options);
    serverStarted(started.pid!, image.node);
    started.once('exit', () => serverExited(started.pid!));
    return new Container(image, options, started);
  }

  get isRunning(): boolean {
    return this.#process.exitCode === null && this.#process.signalCode === null;
  }

  /** All that it has printed. */
  get output(): string {
    return this.#output;
  }

  /** Runs the health check of the image once. */
  isHealthy(): boolean {
    const [program, ...args] = this.#image.healthcheck;
    return (
      spawnSync(programOf(this.#image, program), args, { ...this.#options, stdio: 'ignore' }).status === 0
    );
  }

  /** Whether the user of the container can make a file in the working directory. */
  canWrite(): boolean {
    return (
      spawnSync('touch', ['written'], { ...this.#options, env: { PATH: process.env['PATH'] } }).status === 0
    );
  }

  /** Sends SIGTERM. */
  terminate(): void {
    this.#process.kill('SIGTERM');
  }

  /** Resolves with the exit code, or the signal that ended it. */
  async exited(): Promise<number | NodeJS.Signals | null> {
    if (this.isRunning) await once(this.#process, 'exit');
    return this.#process.exitCode ?? this.#process.signalCode;
  }

  /** For the end of a test that failed. */
  kill(): void {
    this.#process.kill('SIGKILL');
  }
}

function programOf({ node }: Image, program = ''): string {
  if (program !== 'node') throw new Error(`an image runs node, not ${program}`);
  return node;
}
