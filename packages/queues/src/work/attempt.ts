/** One run of one task by this worker: what the handler sees of it, and the lease that it stands under. */
import { taskLeaseLost } from '../errors.js';
import type { Consumer } from './consumer.js';
import { linesOf, progressJson } from './notes.js';
import type { TaskRecord } from '../task/record.js';
import type { Child } from '../flow/child.js';
import { readChildren } from '../flow/child.js';
import { decodeRecord, PARENT } from '../task/record.js';
import { decodeTaskId } from '../task/task-id.js';
import type { Call } from './worker-telemetry.js';

/** What a handler is given beside the payload. Its functions may be taken out of it. */
export interface TaskContext {
  readonly id: string;
  readonly queue: string;
  readonly name: string;
  /** Which attempt this is; 1 is the first. */
  readonly attempt: number;
  readonly attempts: number;
  readonly headers: Readonly<Record<string, string>>;
  /**
   * Aborted when the attempt no longer counts: the lease is lost (ERR_LEASE_LOST), the task was cancelled
   * (ERR_TASK_CANCELLED), it took too long (ERR_TASK_TIMEOUT), or the worker stops without waiting longer
   * (ERR_WORKER_STOPPED).
   */
  readonly signal: AbortSignal;
  /**
   * Renews the lease now; the worker does so by itself at a third of it. Rejects with ERR_LEASE_LOST when the lease is
   * lost or the attempt has ended, otherwise with the reason of the signal. One round trip; calls of one tick share it.
   */
  readonly renew: () => Promise<void>;
  /**
   * Keeps how far the task is, in place of what was told before. Resolves when it is stored. Up to 16,384 bytes as JSON,
   * otherwise a TypeError or RangeError; rejects as `renew` does. One round trip, shared by all calls of one tick.
   */
  readonly progress: (value: unknown) => Promise<void>;
  /**
   * Keeps a line with the task; a text of several lines is as many. Of each 1,000 characters are kept, of each task the last
   * 100 lines and 16,384 bytes. Resolves when it is stored; rejects as `renew` does. Round trips as for `progress`.
   */
  readonly log: (text: string) => Promise<void>;
  /**
   * How the children of this task have ended, in the order in which they were given; none for a task that isn't the parent of a
   * flow. They are kept as long as the parent may run, whatever the children's own retention. One round trip for each 2 MiB.
   */
  readonly children: () => Promise<Child[]>;
}

/** A task as the fetch-and-ack script returns it, or as a hand-off brings it. */
export interface Taken {
  /** The id as Redis has it. */
  readonly storedId: Buffer;
  readonly token: number;
  readonly attempt: number;
  readonly record: Buffer;
}

export class Attempt implements TaskContext {
  readonly id: string;
  readonly attempt: number;
  readonly record: TaskRecord;
  /** Settled, lost, cancelled or given back: whatever the handler still does no longer counts. */
  isOver = false;
  /** On the clock of `performance.now()`: not begun after that. */
  expiresAt = Infinity;
  timeout: NodeJS.Timeout | undefined;
  /** Called once when the attempt no longer takes a slot. */
  onEnded: (() => void) | undefined;
  /** What tells telemetry of it, if something does. */
  call: Call | undefined;
  #controller: AbortController | undefined;

  /** Throws for a record that this version cannot read. */
  constructor(
    /** Of the shard that the task lies in. */
    readonly consumer: Consumer,
    readonly taken: Taken,
    /** On the clock of `performance.now()`: after this the lease may belong to somebody else. */
    public leaseEndsAt: number,
  ) {
    this.id = decodeTaskId(taken.storedId);
    this.attempt = taken.attempt;
    this.record = decodeRecord(taken.record);
  }

  get queue(): string {
    return this.consumer.queue;
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

  /** Made when it is first asked for: most handlers never do. */
  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    return this.#controller.signal;
  }

  // Functions are made when they are asked for, too.

  get renew(): () => Promise<void> {
    return async () => {
      if (!this.isOver) await this.consumer.leases.renew(this);
      if (this.isOver) this.#throwEnd();
    };
  }

  get progress(): (value: unknown) => Promise<void> {
    return async (value) => this.#note(progressJson(value), '');
  }

  get log(): (text: string) => Promise<void> {
    return async (text) => this.#note('', linesOf(text));
  }

  get children(): () => Promise<Child[]> {
    return async () => {
      if ((this.record.flags & PARENT) === 0) return [];
      return readChildren(this.consumer.shard, this.taken.storedId);
    };
  }

  /** Ends the attempt from outside. */
  abandon(reason: Error): void {
    this.isOver = true;
    this.call?.abandoned(this, reason);
    this.#controller ??= new AbortController();
    this.#controller.abort(reason);
  }

  async #note(progress: string, lines: string): Promise<void> {
    const isStored = !this.isOver && (await this.consumer.notes.add({ attempt: this, progress, lines }));
    if (!isStored) this.#throwEnd();
  }

  #throwEnd(): never {
    this.signal.throwIfAborted();
    throw taskLeaseLost(this.queue, this.id);
  }
}
