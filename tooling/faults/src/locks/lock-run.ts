/** One run: a server for the locks, another for what they protect, worker processes, and the check of their history. */
import type { RedisServer } from '@mortise/redis-server';
import { startSingle } from '@mortise/redis-server';
import type { Loss, Operation, Violation } from '../history/operation.js';
import { check } from '../history/check.js';
import type { Model } from '../history/model.js';
import { mutexModel } from '../history/mutex-model.js';
import { readWriteModel } from '../history/read-write-model.js';
import { semaphoreModel } from '../history/semaphore-model.js';
import { nowUs } from './clock.js';
import type { RedisAddress } from './config.js';
import type { FleetOptions } from './fleet.js';
import { Fleet } from './fleet.js';

export type LockRunOptions = Partial<FleetOptions>;

export interface Verdict {
  readonly violations: readonly Violation[];
  readonly operations: readonly Operation[];
  /** How often each operation ended how: `acquire acquired`, `release lost`. */
  readonly counts: Readonly<Record<string, number>>;
}

const WAIT_MS = 45_000;

const DEFAULTS = {
  kind: 'mutex',
  prefix: 'faults',
  names: ['lock'],
  contenders: 25,
  leaseMs: 500,
  renew: true,
  waitMs: WAIT_MS,
  holdMs: 2,
  isFenced: true,
  recordsCalls: true,
} as const;

export class LockRun {
  readonly fleet: Fleet;
  readonly resource: RedisServer;
  readonly #options: LockRunOptions;
  readonly #losses: Loss[] = [];
  #hasRepeats: boolean | Loss[] = false;

  private constructor(fleet: Fleet, resource: RedisServer, options: LockRunOptions) {
    this.fleet = fleet;
    this.resource = resource;
    this.#options = options;
  }

  static async on(redis: RedisAddress, options: LockRunOptions = {}): Promise<LockRun> {
    const resource = await startSingle();
    const fleet = new Fleet({ ...DEFAULTS, ...options, redis, resourceUrl: resource.url });
    return new LockRun(fleet, resource, options);
  }

  /** Records that the server may lose its data while `action` runs, and what is written during it. */
  async losing<Result>(action: () => Promise<Result> | Result): Promise<Result> {
    const from = nowUs();
    try {
      return await action();
    } finally {
      this.#losses.push({ from, to: nowUs() });
    }
  }

  /** Records a loss that is known only afterwards. */
  lost(loss: Loss): void {
    this.#losses.push(loss);
  }

  /** Records that connections break, so that commands may be sent twice: at any time, or in this moment. */
  repeats(during?: Loss): void {
    const known = Array.isArray(this.#hasRepeats) ? this.#hasRepeats : [];
    this.#hasRepeats = during ? [...known, during] : true;
  }

  /** Ends the rounds, which must not take longer than a waiter waits, and checks the history. */
  async verdict(options: { mayGoOn?: boolean; withinMs?: number } = {}): Promise<Verdict> {
    await this.fleet.finish({ withinMs: WAIT_MS, ...options });
    const operations = this.fleet.operations();
    const counts: Record<string, number> = {};
    for (const { op, outcome } of operations) {
      const what = `${op} ${outcome}`;
      counts[what] = (counts[what] ?? 0) + 1;
    }
    const history = { operations, losses: this.#losses, hasRepeats: this.#hasRepeats };
    const violations = check(history, this.#model() as Model<unknown>, {
      killedClients: this.fleet.killedClients,
    });
    return { violations, operations, counts };
  }

  async dispose(): Promise<void> {
    await this.fleet.dispose();
    await this.resource.stop();
  }

  #model(): Model<never> {
    const { kind = 'mutex', permits = 1 } = this.#options;
    const models = { mutex: mutexModel, semaphore: semaphoreModel(permits), 'read-write': readWriteModel };
    return models[kind] as unknown as Model<never>;
  }
}
