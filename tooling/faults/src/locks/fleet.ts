/** Worker processes of one run, and the history that they leave behind. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Child } from '../child.js';
import type { Operation } from '../history/operation.js';
import { readOperations } from '../history/read-history.js';
import type { WorkerConfig, WorkerMessage } from './config.js';

export type FleetOptions = Omit<WorkerConfig, 'worker' | 'file'>;

export class Fleet {
  readonly workers: Worker[] = [];
  readonly #options: FleetOptions;
  readonly #directory = mkdtempSync(join(tmpdir(), 'mortise-faults-'));

  constructor(options: FleetOptions) {
    this.#options = options;
  }

  /** Starts one more process; resolves when it is connected. Its config differs in these settings. */
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
export class Worker extends Child {
  readonly name: string;
  readonly file: string;
  readonly clients: readonly string[];
  readonly isReady: Promise<void>;
  #turns = 0;

  constructor(config: WorkerConfig) {
    const { worker, file, contenders } = config;
    const resolvers = { ready: (): void => {} };
    super('locks/worker.js', config, file, (message) => {
      const { type, ...more } = message as WorkerMessage & { turns?: number };
      if (type === 'ready') resolvers.ready();
      else this.#turns = more.turns!;
    });
    this.name = worker;
    this.file = file;
    this.clients = Array.from({ length: contenders }, (_, index) => `${worker}.${index}`);
    this.isReady = new Promise((resolve, reject) => {
      resolvers.ready = resolve;
      void this.hasEnded.then(() =>
        reject(new Error(`${worker} ended before it was ready:\n${this.output}`)),
      );
    });
  }

  /** How many it has begun, as of some ms ago. */
  get turns(): number {
    return this.#turns;
  }

  /** Asks it to end its turns. */
  stop(): void {
    this.send('stop');
  }
}
