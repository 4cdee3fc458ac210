/** The services of a worker for one shard of a queue. */
import type { ErrorReporter } from '@mortise/redis';
import { taskLeaseLost } from '../errors.js';
import type { ResolvedWorkerOptions } from '../options.js';
import type { Shard } from '../shard/shard.js';
import { decodeTaskId } from '../task/task-id.js';
import type { Source } from './attempt.js';
import { Completer } from './completer.js';
import type { Executor, SlotRoom } from './executor.js';
import { Fetcher } from './fetcher.js';
import type { HandlerNames } from './handler-names.js';
import { Heartbeater } from './heartbeater.js';
import { Maintainer } from './maintainer.js';
import type { Service } from './service.js';
import { WakeUps } from './wake-ups.js';

/** Calls of one fetcher under way at the same time. */
const MAX_IN_FLIGHT = 2;
/** An idle worker rechecks after this time or 0.4 leases, before the errors that the recheck repairs take effect. */
const MAX_RECHECK_MS = 4_000;
const MIN_RECHECK_MS = 1_000;
const WAKE_ID = 'w';

export interface ShardOptions {
  readonly workerId: string;
  readonly options: ResolvedWorkerOptions;
  readonly executor: Executor;
  readonly reporter: ErrorReporter;
  /** Of the queue. */
  readonly names: HandlerNames;
  /** Whether the worker has no other queue, whose tasks may have to go before a handed-off one. */
  readonly isOnlyQueue: boolean;
  /** Called when the settings of the shard have changed. */
  readonly onSettings: () => void;
}

export class ShardServices implements Source, Service {
  readonly completer: Completer;
  readonly heartbeater: Heartbeater;
  readonly fetcher: Fetcher<SlotRoom>;
  readonly names: HandlerNames;
  readonly #maintainer: Maintainer;
  readonly #wakeUps: WakeUps;

  /** Adds itself to the executor. */
  constructor(
    readonly shard: Shard,
    { workerId, options, executor, reporter, names, isOnlyQueue, onSettings }: ShardOptions,
  ) {
    const { leaseMs } = options;
    this.names = names;
    this.completer = new Completer(
      () => this.fetcher.schedule(),
      (id) => reporter.report(taskLeaseLost(shard.queue, decodeTaskId(id))),
    );
    this.heartbeater = new Heartbeater(shard, workerId, leaseMs, reporter);
    this.#maintainer = new Maintainer(shard, options, reporter, (hasMore) =>
      this.fetcher.maintained(hasMore),
    );
    this.fetcher = new Fetcher<SlotRoom>({
      shard,
      workerId,
      retention: options,
      recheckMs: Math.min(MAX_RECHECK_MS, Math.max(MIN_RECHECK_MS, Math.round(0.4 * leaseMs))),
      maxInFlight: MAX_IN_FLIGHT,
      handOffMs: isOnlyQueue ? leaseMs : 0,
      demand: executor,
      completer: this.completer,
      maintainer: this.#maintainer,
      reporter,
      onSettings,
    });
    this.#wakeUps = new WakeUps(shard.redis, shard.keys.wakeChannel(workerId), WAKE_ID, reporter, (wake) => {
      this.fetcher.wake();
      if (wake?.type === 'message' && wake.body.length > 0) this.fetcher.handOff(wake.body);
    });
    executor.add(this.fetcher, this);
  }

  start(): void {
    this.heartbeater.start();
    this.#wakeUps.start();
    // Before the fetcher, since tasks of a dead worker come before ready ones.
    this.#maintainer.start();
    this.fetcher.start();
  }

  async stop(withinMs: number): Promise<void> {
    const deadline = performance.now() + withinMs;
    await this.fetcher.stop(withinMs);
    await this.#maintainer.stop(Math.max(0, deadline - performance.now()));
    await Promise.all([this.#wakeUps.stop(), this.heartbeater.stop()]);
  }
}
