import type { ChildProcess } from 'node:child_process';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { processExited, processStarted } from '@mortise/redis-server';
import { nowUs } from './locks/clock.js';

/** A program of this package as a process, with its orders as JSON in the only argument. */
export class Child {
  readonly hasEnded: Promise<unknown>;
  readonly #process: ChildProcess;
  #killedAt: number | undefined;
  readonly #stops: { readonly from: number; to: number }[] = [];
  #endedAt = Infinity;
  #output = '';

  /**
   * @param program Below the build, such as `queues/worker.js`.
   * @param mark A part of its argument: that is how the reaper knows it.
   */
  constructor(program: string, config: unknown, mark: string, onMessage: (message: unknown) => void) {
    const file = fileURLToPath(new URL(`../dist/${program}`, import.meta.url));
    const child = spawn(process.execPath, [file, JSON.stringify(config)], {
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    this.#process = child;
    processStarted(child.pid!, mark);
    for (const stream of [child.stdout, child.stderr]) {
      stream?.on('data', (chunk: Buffer) => {
        this.#output = (this.#output + chunk.toString()).slice(-20_000);
      });
    }
    child.on('message', onMessage);
    child.once('exit', () => {
      this.#endedAt = nowUs();
    });
    this.hasEnded = once(child, 'exit').then(() => processExited(child.pid!));
  }

  get isRunning(): boolean {
    return this.#process.exitCode === null && this.#process.signalCode === null;
  }

  get pid(): number {
    return this.#process.pid!;
  }

  get exitCode(): number | null {
    return this.#process.exitCode;
  }

  /** Before this instant (µs) it was not yet gone by a signal or an error; infinite for one that runs, or has ended as it should. */
  get killedAt(): number {
    if (this.#killedAt !== undefined) return this.#killedAt;
    return this.isRunning || this.#process.exitCode === 0 ? Infinity : this.#endedAt;
  }

  get isKilled(): boolean {
    return this.#killedAt !== undefined || this.#process.signalCode === 'SIGKILL';
  }

  /** It was ended by SIGKILL, and not by `kill()`. */
  get isSuicide(): boolean {
    return this.#process.signalCode === 'SIGKILL' && this.#killedAt === undefined;
  }

  /** When it stood still, µs. */
  get stops(): readonly { readonly from: number; readonly to: number }[] {
    return this.#stops;
  }

  get output(): string {
    return this.#output;
  }

  send(message: object | string): void {
    if (this.#process.connected) this.#process.send(message);
  }

  /** SIGSTOP: it keeps its connections, and doesn't know that time passes. Resolves when it stands still. */
  async pause(): Promise<void> {
    this.#stops.push({ from: nowUs(), to: Infinity });
    this.#process.kill('SIGSTOP');
    while (this.isRunning && !isStopped(this.#process.pid!)) await pause(1);
  }

  resume(): void {
    this.#process.kill('SIGCONT');
    const stop = this.#stops.at(-1);
    if (stop) stop.to = nowUs();
  }

  async kill(): Promise<void> {
    if (!this.isRunning) return;
    this.#killedAt = nowUs();
    this.#process.kill('SIGKILL');
    await this.hasEnded;
  }
}

/** A signal takes effect a moment after it was sent. A process that has ended stands still as well. */
function isStopped(pid: number): boolean {
  try {
    // The state is what follows the name, which stands in parentheses.
    const state =
      process.platform === 'linux'
        ? readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!
        : execFileSync('ps', ['-o', 'stat=', '-p', String(pid)], { encoding: 'utf8' }).trim();
    return state.startsWith('T');
  } catch {
    return true;
  }
}
