import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

/** One of the apps as a real process, from its build; its standard output is kept for error messages. */
export class Program {
  readonly #process: ChildProcess;
  #output = '';
  #exit: Promise<unknown>;

  constructor(
    readonly name: 'api' | 'worker',
    environment: NodeJS.ProcessEnv,
  ) {
    const main = fileURLToPath(new URL(`../../../apps/${name}/dist/main.js`, import.meta.url));
    this.#process = spawn(process.execPath, [main], {
      env: { ...process.env, ...environment },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    for (const stream of [this.#process.stdout, this.#process.stderr]) {
      stream?.on('data', (chunk: Buffer) => {
        this.#output = (this.#output + chunk.toString()).slice(-20_000);
      });
    }
    this.#exit = once(this.#process, 'exit');
  }

  get isRunning(): boolean {
    return this.#process.exitCode === null && this.#process.signalCode === null;
  }

  get output(): string {
    return this.#output;
  }

  async kill(): Promise<void> {
    this.#process.kill('SIGKILL');
    await this.#exit;
  }

  /** Asks it to stop; returns its exit code. */
  async stop(): Promise<number | null> {
    if (this.isRunning) {
      this.#process.kill('SIGTERM');
      await this.#exit;
    }
    return this.#process.exitCode;
  }
}
