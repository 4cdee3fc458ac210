/** Worker processes of one run. */
import { closeSync, mkdtempSync, openSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Child } from '../child.js';
import type { WorkerConfig, WorkerMessage } from './config.js';
import type { Source } from './executions.js';
import { RECORD_BYTES } from './records.js';

const LOOK_EVERY_MS = 20;

export type FleetOptions = Omit<WorkerConfig, 'worker' | 'file'>;

export class Fleet {
  readonly workers: WorkerProcess[] = [];
  readonly #options: FleetOptions;
  readonly #directory = mkdtempSync(join(tmpdir(), 'mortise-faults-'));

  constructor(options: FleetOptions) {
    this.#options = options;
  }

  get running(): WorkerProcess[] {
    return this.workers.filter(({ isRunning }) => isRunning);
  }

  /** Workers that ended by themselves, which none may. */
  get failed(): WorkerProcess[] {
    return this.workers.filter(({ exitCode }) => exitCode !== null && exitCode !== 0);
  }

  get sources(): Source[] {
    return this.workers.map(({ number: worker, file, killedAt, stops }) => ({
      worker,
      file,
      killedAt,
      stops,
    }));
  }

  /** How many records there are; two for an execution that has ended. */
  get records(): number {
    return this.workers.reduce((sum, { records }) => sum + records, 0);
  }

  /** Starts one more process; resolves when its worker runs. Its config differs in these settings. */
  async add(options: Partial<FleetOptions> = {}): Promise<WorkerProcess> {
    const worker = this.workers.length;
    const file = join(this.#directory, `w${worker}.records`);
    closeSync(openSync(file, 'a'));
    const started = new WorkerProcess({
      ...this.#options,
      ...options,
      options: { ...this.#options.options, ...options.options },
      worker,
      file,
    });
    this.workers.push(started);
    await started.isReady;
    return started;
  }

  async start(count: number, options: Partial<FleetOptions> = {}): Promise<WorkerProcess[]> {
    return Promise.all(Array.from({ length: count }, () => this.add(options)));
  }

  /** Starts another process whenever one has ended, so that there are `count`, until what is returned is called. */
  keep(count: number): () => Promise<void> {
    const keeping = { isOver: false };
    const loop = (async () => {
      while (!keeping.isOver) {
        const missing = count - this.running.length;
        // One may be ended by its first task before it is ready.
        if (missing > 0) await this.start(missing).catch(() => undefined);
        await pause(LOOK_EVERY_MS);
      }
    })();
    return async () => {
      keeping.isOver = true;
      await loop;
    };
  }

  /** Ends what still runs. The files stay until `dispose`. */
  async kill(): Promise<void> {
    await Promise.all(this.workers.map((worker) => worker.kill()));
  }

  async dispose(): Promise<void> {
    await this.kill();
    rmSync(this.#directory, { recursive: true, force: true });
  }
}

export class WorkerProcess extends Child {
  readonly number: number;
  readonly file: string;
  readonly isReady: Promise<void>;
  readonly hasStopped: Promise<void>;

  constructor(config: WorkerConfig) {
    const resolvers = { ready: () => {}, stopped: () => {} };
    super('queues/worker.js', config, config.file, (message) => resolvers[(message as WorkerMessage).type]());
    this.number = config.worker;
    this.file = config.file;
    this.hasStopped = new Promise((resolve) => {
      resolvers.stopped = resolve;
    });
    this.isReady = new Promise((resolve, reject) => {
      resolvers.ready = resolve;
      void this.hasEnded.then(() =>
        reject(new Error(`worker ${config.worker} ended before it was ready:\n${this.output}`)),
      );
    });
  }

  get records(): number {
    return Math.floor(statSync(this.file).size / RECORD_BYTES);
  }

  /** Resolves when it has ended. */
  async stop({ graceMs = 10_000 }: { graceMs?: number } = {}): Promise<void> {
    this.send({ type: 'stop', graceMs });
    await this.hasEnded;
  }
}
