/**
 * What workers do for a queue beside its tasks. The exchange says that there is something to do; whoever hears it first
 * takes it under a short claim of its own, so the others find nothing.
 */
import type { Shard } from '../shard/shard.js';
import { Shards } from '../shard/shards.js';
import { FlowQueues } from '../flow/flow-queues.js';
import { FlowStore } from '../flow/flow-store.js';
import { Relay } from '../flow/relay.js';
import { ScheduleRunner } from '../schedule/schedule-runner.js';
import type { Reporter } from './reporter.js';

/** Bits of `chores` in the reply of worker.exchange.lua. */
const SCHEDULES = 1;
const OUTBOX = 2;

/** Something to do for a shard. `run` never rejects, and calls while one is under way share it. */
interface Chore {
  readonly bit: number;
  run(): Promise<void>;
  /** Ends early what is under way. */
  stop?(): Promise<void>;
}

export class Chores {
  readonly #shard: Shard;
  readonly #reporter: Reporter;
  #all: readonly Chore[] | undefined;
  #running: Promise<unknown> | undefined;

  constructor(shard: Shard, reporter: Reporter) {
    this.#shard = shard;
    this.#reporter = reporter;
  }

  /** Resolves with true when it is done, with false for a call while one is under way. Never rejects. */
  async run(bits: number): Promise<boolean> {
    if (this.#running) return false;
    this.#all ??= this.#make();
    const due = this.#all.filter(({ bit }) => (bits & bit) !== 0);
    this.#running = Promise.all(due.map((chore) => chore.run()));
    await this.#running;
    this.#running = undefined;
    return true;
  }

  /** Resolves when nothing is under way any more. */
  async idle(): Promise<void> {
    for (const chore of this.#all ?? []) void chore.stop?.();
    await this.#running;
  }

  /** Made when there is something to do: most queues have no schedules and no flows. */
  #make(): Chore[] {
    const { redis, queue, prefix } = this.#shard;
    const runner = new ScheduleRunner(redis, queue, new Shards(redis, queue, prefix), this.#reporter);
    const store = new FlowStore(redis, new FlowQueues(redis, prefix));
    const relay = new Relay(this.#shard, store);
    return [
      { bit: SCHEDULES, run: () => runner.run() },
      {
        bit: OUTBOX,
        run: () => relay.run().catch((error: unknown) => this.#reporter.tellFailure(error)),
        stop: () => relay.stop(),
      },
    ];
  }
}
