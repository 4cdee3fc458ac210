/** One attempt of a task in this worker: the context of its handler, and its lease. */
import { taskLeaseLost } from '../errors.js';
import type { Completer } from './completer.js';
import type { FetchedTask } from './fetch-and-ack.js';
import type { Heartbeater, Leased } from './heartbeater.js';
import type { Report } from './leases.js';
import { linesOf, progressJson } from './progress.js';
import type { Shard } from '../shard/shard.js';
import type { TaskRecord } from '../task/record.js';
import type { Child } from '../flow/child.js';
import { readChildren } from '../flow/child.js';
import { decodeRecord, PARENT } from '../task/record.js';
import { decodeTaskId } from '../task/task-id.js';
import type { Call } from './worker-telemetry.js';

/** The second argument of a handler. Its functions can be called without it. */
export interface TaskContext {
  readonly id: string;
  readonly queue: string;
  readonly name: string;
  /** The number of this attempt, from 1. */
  readonly attempt: number;
  readonly attempts: number;
  readonly headers: Readonly<Record<string, string>>;
  /**
   * Aborted when the attempt no longer counts: the lease is lost (ERR_LEASE_LOST), the task was cancelled
   * (ERR_TASK_CANCELLED), it took too long (ERR_TASK_TIMEOUT), or the worker stops and waits no longer
   * (ERR_WORKER_STOPPED).
   */
  readonly signal: AbortSignal;
  /**
   * Renews the lease now; the worker does so by itself at a third of it. Rejects with ERR_LEASE_LOST when the lease is lost
   * or the attempt has ended, otherwise with the reason of the signal. One round trip, shared by all calls of one tick.
   */
  readonly renew: () => Promise<void>;
  /**
   * Stores the progress of the task in place of earlier progress. Resolves when it is stored. Up to 16,384 bytes as JSON,
   * otherwise TypeError or RangeError. Rejects as `renew` does. One round trip, shared by all calls of one tick.
   */
  readonly progress: (value: unknown) => Promise<void>;
  /**
   * Stores a log line with the task, or a line for each line of the text. Keeps the first 1,000 characters of a line, and
   * the last 100 lines and 16,384 bytes of a task. Resolves when it is stored; rejects as `renew` does. Round trips as for
   * `progress`.
   */
  readonly log: (text: string) => Promise<void>;
  /**
   * The ended children of this task, in their order; none unless it is the parent of a flow. They are kept as long as the
   * parent may run, whatever the retention of the children. One round trip for each 2 MiB.
   */
  readonly children: () => Promise<Child[]>;
}

/** The services that renew and complete the attempts of one shard. */
export interface Source {
  readonly shard: Shard;
  readonly completer: Completer;
  readonly heartbeater: Heartbeater;
}

export class Attempt implements TaskContext, Leased {
  readonly id: string;
  readonly attempt: number;
  readonly record: TaskRecord;
  /** Completed, lost, cancelled or given back: the handler's outcome no longer counts. */
  isOver = false;
  /** Not started after this, by `performance.now()`. */
  expiresAt = Infinity;
  timeout: NodeJS.Timeout | undefined;
  /** The call that telemetry measures, until its end. */
  call: Call | undefined;
  #controller: AbortController | undefined;

  /** Throws for a record that this version cannot read. */
  constructor(
    readonly source: Source,
    readonly fetched: FetchedTask,
    /** By `performance.now()`; afterwards another worker may have the lease. */
    public leaseEndsAt: number,
  ) {
    this.id = decodeTaskId(fetched.storedId);
    this.attempt = fetched.attempt;
    this.record = decodeRecord(fetched.record);
  }

  get queue(): string {
    return this.source.shard.queue;
  }

  get name(): string {
    return this.record.name;
  }

  get attempts(): number {
    return this.record.attempts;
  }

  get headers(): Readonly<Record<string, string>> {
    return this.record.extras.headers ?? {};
  }

  /** Created at the first use, since most handlers need none. */
  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    return this.#controller.signal;
  }

  // The functions are created at their first use too.

  get renew(): () => Promise<void> {
    return async () => {
      if (!this.isOver) await this.source.heartbeater.renew(this);
      if (this.isOver) this.#throwEnd();
    };
  }

  get progress(): (value: unknown) => Promise<void> {
    return async (value) => this.#report({ progress: progressJson(value), lines: '' });
  }

  get log(): (text: string) => Promise<void> {
    return async (text) => this.#report({ progress: '', lines: linesOf(text) });
  }

  get children(): () => Promise<Child[]> {
    return async () => {
      if ((this.record.flags & PARENT) === 0) return [];
      return readChildren(this.source.shard, this.fetched.storedId);
    };
  }

  /** Ends the attempt from outside the handler. */
  abandon(reason: Error): void {
    this.isOver = true;
    this.call?.abandoned(this, reason);
    this.#controller ??= new AbortController();
    this.#controller.abort(reason);
  }

  async #report(report: Report): Promise<void> {
    const isStored = !this.isOver && (await this.source.heartbeater.report(this, report));
    if (!isStored) this.#throwEnd();
  }

  #throwEnd(): never {
    this.signal.throwIfAborted();
    throw taskLeaseLost(this.queue, this.id);
  }
}
