/** One run of one task by this worker: what the handler sees of it, and the lease that it stands under. */
import { LeaseLostError } from './errors.js';
import type { TaskRecord } from './record.js';
import { decodeRecord } from './record.js';
import { decodeTaskId } from './task-id.js';

/** What a handler is given beside the payload. */
export interface TaskContext {
  readonly id: string;
  readonly queue: string;
  readonly name: string;
  /** Which attempt this is; 1 is the first. */
  readonly attempt: number;
  readonly attempts: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Aborted when the lease is lost (ERR_LEASE_LOST) or the worker stops without waiting longer (ERR_WORKER_STOPPED). */
  readonly signal: AbortSignal;
  /**
   * Renews the lease now; the worker does so by itself at a third of it. Rejects with ERR_LEASE_LOST when the lease is
   * lost or the attempt has ended, with ERR_WORKER_STOPPED when the task was given back. One round trip; calls of one
   * tick share it.
   */
  renew(): Promise<void>;
}

/** A task as the exchange script hands it out. */
export interface Taken {
  /** The id as Redis has it. */
  readonly storedId: Buffer;
  readonly token: number;
  readonly attempt: number;
  readonly record: Buffer;
}

/** What keeps the lease of an attempt. */
export interface Renewer {
  renew(attempt: Attempt): Promise<unknown>;
}

export class Attempt implements TaskContext {
  readonly id: string;
  readonly attempt: number;
  readonly record: TaskRecord;
  /** Settled, lost or given back: whatever the handler still does no longer counts. */
  isOver = false;
  #controller: AbortController | undefined;

  /** Throws for a record that this version cannot read. */
  constructor(
    readonly queue: string,
    readonly taken: Taken,
    /** On the clock of `performance.now()`: after this the lease may belong to somebody else. */
    public leaseEndsAt: number,
    readonly renewer: Renewer,
  ) {
    this.id = decodeTaskId(taken.storedId);
    this.attempt = taken.attempt;
    this.record = decodeRecord(taken.record);
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

  async renew(): Promise<void> {
    if (!this.isOver) await this.renewer.renew(this);
    if (!this.isOver) return;
    this.signal.throwIfAborted();
    throw new LeaseLostError(this.queue, this.id);
  }

  /** Ends the attempt from outside. */
  abandon(reason: Error): void {
    this.isOver = true;
    this.#controller ??= new AbortController();
    this.#controller.abort(reason);
  }
}
