/**
 * Housekeeping of one shard: returns tasks whose lease has ended, applies retention, runs due schedules and delivers the
 * outbox. Any worker of the queue may do each part; short leases keep two workers from doing the same.
 *
 *   stopped ──start──► waiting ──a timer, or `run`──► running ──► waiting     stop ends all
 *
 * While the shard has work, the timer is a second. Without work it is longer, since an idle fetcher learns from its replies
 * when maintenance is due.
 */
import type { ErrorReporter } from '@mortise/redis';
import { isClosed, waitFor } from '@mortise/redis';
import { FlowQueues } from '../flow/flow-queues.js';
import { FlowStore } from '../flow/flow-store.js';
import { Relay } from '../flow/relay.js';
import type { ResolvedWorkerOptions } from '../options.js';
import { ScheduleRunner } from '../schedule/schedule-runner.js';
import { maintainerMaintain } from '../scripts.gen.js';
import type { Service } from './service.js';
import type { Shard } from '../shard/shard.js';
import { Shards } from '../shard/shards.js';

/** Bits of `maintenance` in the replies of the scripts. */
const SCHEDULES = 1;
const OUTBOX = 2;
const LEASES = 4;

const BUSY_PERIOD_MS = 1_000;
/** For a queue without optional features: a worker that is always full still learns of the first schedule. */
const PLAIN_PERIOD_MS = 4_000;
const MAX_IDLE_PERIOD_MS = 60_000;
/** Limit of one call of the script. */
const MOST_RECOVERED = 100;
/** A queue that keeps more records than this compacts them also while it is busy. */
const MOST_UNCOMPACTED = 1_000;

type Retention = Pick<ResolvedWorkerOptions, 'keepSucceeded' | 'keepSucceededMs' | 'keepDead'>;

interface Maintained {
  /** How many leases had ended. */
  readonly putBack: number;
  /** Other maintenance that is due. */
  readonly maintenance: number;
}

export class Maintainer implements Service {
  readonly #shard: Shard;
  readonly #retention: Retention;
  readonly #reporter: ErrorReporter;
  readonly #onDone: (hasMore: boolean) => void;
  #state: 'stopped' | 'waiting' | 'running' = 'stopped';
  #running: Promise<void> | undefined;
  /** Bits of the running maintenance, and of the next one. */
  #current = 0;
  #next = 0;
  #timer: NodeJS.Timeout | undefined;
  #timerAt = Infinity;
  /** Tasks were fetched or acked since the last call of the script. */
  #hasWork = false;
  #calledAt = -Infinity;
  #runner: ScheduleRunner | undefined;
  #relay: Relay | undefined;

  /** @param onDone Called after maintenance, with whether there may be something to fetch. */
  constructor(
    shard: Shard,
    retention: Retention,
    reporter: ErrorReporter,
    onDone: (hasMore: boolean) => void,
  ) {
    this.#shard = shard;
    this.#retention = retention;
    this.#reporter = reporter;
    this.#onDone = onDone;
  }

  start(): void {
    if (this.#state !== 'stopped') return;
    this.#state = 'waiting';
    // Before the first fetch, since tasks of a dead worker come before ready ones.
    this.run(LEASES);
  }

  /** Waits for running maintenance. If there was work, calls the script once more, since there may be no other worker. */
  async stop(withinMs: number): Promise<void> {
    if (this.#state === 'stopped') return;
    this.#state = 'stopped';
    clearTimeout(this.#timer);
    this.#timerAt = Infinity;
    void this.#relay?.stop();
    await waitFor(this.#end(), { waitMs: withinMs });
  }

  async #end(): Promise<void> {
    await this.#running;
    // If this fails, the next worker does it.
    if (this.#hasWork && !isClosed(this.#shard.redis)) await this.#maintain(true).catch(() => undefined);
  }

  /** Tasks come and go, or, with `isFull`, a full worker fetches none, and no reply tells it when maintenance is due. */
  noteWork(isFull = false): void {
    if (!isFull) this.#hasWork = true;
    const isQuiet = isFull && !this.#shard.settings.usesOptional;
    const dueAt = this.#calledAt + (isQuiet ? PLAIN_PERIOD_MS : BUSY_PERIOD_MS);
    this.#callIn(dueAt - performance.now());
  }

  /** Does the maintenance that a reply reports, now or after the running one. Never throws. */
  run(maintenance: number): void {
    if (maintenance === 0 || this.#state === 'stopped') return;
    // Running maintenance ends with a fetch, whose reply reports again.
    this.#next |= maintenance & ~this.#current;
    if (this.#state === 'running' || this.#next === 0) return;
    this.#state = 'running';
    this.#running = this.#runAll().finally(() => {
      if (this.#state === 'running') this.#state = 'waiting';
      this.#running = undefined;
    });
  }

  get #idlePeriodMs(): number {
    return Math.min(MAX_IDLE_PERIOD_MS, Math.max(BUSY_PERIOD_MS, this.#retention.keepSucceededMs / 10));
  }

  /** Sets the timer, unless it already fires earlier. */
  #callIn(ms: number): void {
    const at = performance.now() + Math.max(0, ms);
    if (this.#state === 'stopped' || at >= this.#timerAt) return;
    clearTimeout(this.#timer);
    this.#timerAt = at;
    this.#timer = setTimeout(
      () => {
        this.#timerAt = Infinity;
        if (this.#state === 'waiting') this.run(LEASES);
        else this.#callIn(BUSY_PERIOD_MS);
      },
      Math.max(0, ms),
    ).unref();
  }

  async #runAll(): Promise<void> {
    while (this.#next !== 0 && this.#state === 'running') {
      this.#current = this.#next;
      this.#next = 0;
      const hasMore = await this.#run().catch((error: unknown) => this.#fail(error));
      this.#current = 0;
      this.#callIn(this.#idlePeriodMs);
      if (this.#state === 'running') this.#onDone(hasMore !== false);
    }
  }

  /** A failure is reported, unless the worker is stopping: then the next worker does the work. */
  #fail(error: unknown): void {
    if (this.#state !== 'stopped') this.#reporter.reportRepeated(error);
  }

  /** Resolves with whether another fetch has to find the next due time. */
  async #run(): Promise<boolean> {
    let hasMore = this.#current !== LEASES;
    while ((this.#current & LEASES) !== 0 && this.#state === 'running') {
      const { putBack, maintenance } = await this.#maintain();
      hasMore ||= putBack > 0 || maintenance > 0;
      this.#current = (this.#current & ~LEASES) | maintenance | (putBack === MOST_RECOVERED ? LEASES : 0);
    }
    const runs = [];
    if ((this.#current & SCHEDULES) !== 0) runs.push(this.#runSchedules());
    if ((this.#current & OUTBOX) !== 0) runs.push(this.#deliver());
    await Promise.all(runs);
    return hasMore;
  }

  /** A quiet second compacts the records of the busy ones before it. */
  #maintain(isLast = false): Promise<Maintained> {
    const isQuiet = isLast || !this.#hasWork;
    const compacts = isQuiet || this.#retention.keepSucceeded > MOST_UNCOMPACTED;
    this.#hasWork = false;
    this.#calledAt = performance.now();
    if (!compacts) this.#callIn(BUSY_PERIOD_MS);
    return maintain(this.#shard, this.#retention, compacts);
  }

  #runSchedules(): Promise<void> {
    const { redis, queue, prefix } = this.#shard;
    this.#runner ??= new ScheduleRunner(redis, queue, new Shards(redis, queue, prefix), this.#reporter);
    return this.#runner.run();
  }

  #deliver(): Promise<void> {
    const { redis, prefix } = this.#shard;
    this.#relay ??= new Relay(this.#shard, new FlowStore(redis, new FlowQueues(redis, prefix)));
    return this.#relay.run();
  }
}

/** Calls the script once. */
export async function maintain(
  { redis, keys, settings, publish }: Shard,
  { keepSucceeded, keepSucceededMs, keepDead }: Retention,
  compacts: boolean,
): Promise<Maintained> {
  const { settings: stored, tasks, attempts, active, succeeded, dead, idle } = keys.of;
  const reply = await settings.run(() =>
    maintainerMaintain.run(
      redis,
      { settings: stored, tasks, attempts, active, succeeded, dead, idle, priorityKeys: settings.keys },
      {
        expectedSettings: settings.text,
        publish,
        priorityCount: settings.values.priorities.length,
        usesOptional: settings.usesOptional ? 1 : 0,
        keepSucceeded,
        keepSucceededMs,
        keepDead,
        compacts: compacts ? 1 : 0,
      },
    ),
  );
  const [putBack, maintenance] = reply as [number, number];
  return { putBack, maintenance };
}
