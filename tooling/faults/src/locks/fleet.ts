/** Worker processes of one run, and the history that they leave behind. */
import type { ChildProcess } from 'node:child_process';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { processExited, processStarted } from '@mortise/redis-server';
import type { Operation } from '../history/operation.js';
import { readOperations } from '../history/read-history.js';
import type { WorkerConfig, WorkerMessage } from './config.js';

const PROGRAM = fileURLToPath(new URL('../../dist/locks/worker.js', import.meta.url));

export type FleetOptions = Omit<WorkerConfig, 'worker' | 'file'>;

export class Fleet {
  readonly workers: Worker[] = [];
  readonly #options: FleetOptions;
  readonly #directory = mkdtempSync(join(tmpdir(), 'mortise-faults-'));

  constructor(options: FleetOptions) {
    this.#options = options;
  }

  /** Starts one more process; resolves when it is connected. What is given here is different for this one. */
  async add(options: Partial<FleetOptions> = {}): Promise<Worker> {
    const name = `w${this.workers.length}`;
    const file = join(this.#directory, `${name}.ndjson`);
    const worker = new Worker({ ...this.#options, ...options, worker: name, file });
    this.workers.push(worker);
    await worker.isReady;
    return worker;
  }

  async start(
    count: number,
    optionsOf: (index: number) => Partial<FleetOptions> = () => ({}),
  ): Promise<this> {
    await Promise.all(Array.from({ length: count }, (_, index) => this.add(optionsOf(index))));
    return this;
  }

  get turns(): number {
    return this.workers.reduce((sum, { turns }) => sum + turns, 0);
  }

  /** The names of all contenders in killed processes. */
  get killedClients(): Set<string> {
    return new Set(this.workers.filter(({ isKilled }) => isKilled).flatMap(({ clients }) => clients));
  }

  /**
   * Waits until all have done their turns, or tells them to finish the ones that they are in. Fails when one doesn't
   * end in time: then somebody hangs.
   */
  async finish({
    withinMs = 30_000,
    mayGoOn = false,
  }: { withinMs?: number; mayGoOn?: boolean } = {}): Promise<void> {
    const running = this.workers.filter(({ isRunning }) => isRunning);
    if (!mayGoOn) for (const worker of running) worker.stop();
    let timer: NodeJS.Timeout | undefined;
    const isLate = new Promise<'late'>((resolve) => {
      timer = setTimeout(() => resolve('late'), withinMs);
    });
    const all = Promise.all(running.map(({ hasEnded }) => hasEnded));
    const result = await Promise.race([all, isLate]);
    clearTimeout(timer);
    if (result === 'late') {
      const hanging = running.filter(({ isRunning }) => isRunning).map(({ name }) => name);
      throw new Error(`${hanging.join()} did not end within ${withinMs} ms: somebody hangs`);
    }
    const failed = running.find(({ isKilled, exitCode }) => !isKilled && exitCode !== 0);
    if (failed) throw new Error(`${failed.name} ended with ${failed.exitCode}:\n${failed.output}`);
  }

  operations(): Operation[] {
    return readOperations(this.workers.map(({ file }) => file));
  }

  /** Ends what still runs, and removes the files. */
  async dispose(): Promise<void> {
    await Promise.all(this.workers.map((worker) => worker.kill()));
    rmSync(this.#directory, { recursive: true, force: true });
  }
}

/** One process with some contenders. */
export class Worker {
  readonly name: string;
  readonly file: string;
  readonly clients: readonly string[];
  readonly isReady: Promise<void>;
  readonly hasEnded: Promise<unknown>;
  readonly #process: ChildProcess;
  #isKilled = false;
  #turns = 0;
  #output = '';

  constructor(config: WorkerConfig) {
    const { worker, file, contenders } = config;
    this.name = worker;
    this.file = file;
    this.clients = Array.from({ length: contenders }, (_, index) => `${worker}.${index}`);
    const child = spawn(process.execPath, [PROGRAM, JSON.stringify(config)], {
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    this.#process = child;
    // Its command line contains the path of its file: that is how the reaper knows it.
    processStarted(child.pid!, file);
    for (const stream of [child.stdout, child.stderr]) {
      stream?.on('data', (chunk: Buffer) => {
        this.#output = (this.#output + chunk.toString()).slice(-20_000);
      });
    }
    this.hasEnded = once(child, 'exit').then(() => processExited(child.pid!));
    this.isReady = new Promise((resolve, reject) => {
      child.on('message', (message: WorkerMessage) => {
        if (message.type === 'ready') resolve();
        else this.#turns = message.turns;
      });
      child.once('exit', () => reject(new Error(`${worker} ended before it was ready:\n${this.#output}`)));
    });
  }

  get isRunning(): boolean {
    return this.#process.exitCode === null && this.#process.signalCode === null;
  }

  get isKilled(): boolean {
    return this.#isKilled || this.#process.signalCode === 'SIGKILL';
  }

  get exitCode(): number | null {
    return this.#process.exitCode;
  }

  get output(): string {
    return this.#output;
  }

  /** How many it has begun, as of some ms ago. */
  get turns(): number {
    return this.#turns;
  }

  /** Asks it to end its turns. */
  stop(): void {
    if (this.#process.connected) this.#process.send('stop');
  }

  /** SIGSTOP: it keeps its connections, and doesn't know that time passes. Resolves when it stands still. */
  async pause(): Promise<void> {
    this.#process.kill('SIGSTOP');
    while (!isStopped(this.#process.pid!)) await pause(1);
  }

  resume(): void {
    this.#process.kill('SIGCONT');
  }

  async kill(): Promise<void> {
    if (!this.isRunning) return;
    this.#isKilled = true;
    this.#process.kill('SIGKILL');
    await this.hasEnded;
  }
}

/** A signal takes effect a moment after it was sent. */
function isStopped(pid: number): boolean {
  // The state is what follows the name, which stands in parentheses.
  const state =
    process.platform === 'linux'
      ? readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!
      : execFileSync('ps', ['-o', 'stat=', '-p', String(pid)], { encoding: 'utf8' }).trim();
  return state.startsWith('T');
}
