/**
 * The records of a worker process: a file of records of one size, each written before it goes on. The records survive the
 * death of the process. Rejected: JSON, which takes ten times as long, and a list on a Redis of its
 * own, where the last ones are still on their way when a process is killed.
 */
import { closeSync, openSync, writeSync } from 'node:fs';

/** How a handler has ended. 0: not yet, or never. */
export const OUTCOMES = [
  'open',
  'returned',
  'failed',
  'discarded',
  'later',
  'lease lost',
  'cancelled',
  'stopped',
  'timed out',
] as const;

export type Outcome = (typeof OUTCOMES)[number];

export const RECORD_BYTES = 32;
export const KINDS = { begin: 1, end: 2, refused: 3 } as const;

/** The code of an outcome in a record. */
export function codeOf(outcome: Outcome): number {
  return OUTCOMES.indexOf(outcome);
}

/** u8 kind · u8 outcome · u16 attempt · u32 execution · u32 task · u32 pid · f64 at · f64 end of the lease, both in µs. */
export class Recorder {
  readonly #file: number;
  readonly #bytes = Buffer.alloc(RECORD_BYTES);
  #executions = 0;

  constructor(path: string) {
    this.#file = openSync(path, 'a');
  }

  /** Returns the number of the execution in this process. */
  begin(task: number, attempt: number, at: number, leaseEndsAt: number): number {
    const execution = this.#executions;
    this.#executions += 1;
    this.#write(KINDS.begin, 0, attempt, execution, task, at, leaseEndsAt);
    return execution;
  }

  end(execution: number, task: number, outcome: Outcome, at: number, leaseEndsAt: number): void {
    this.#write(KINDS.end, codeOf(outcome), 0, execution, task, at, leaseEndsAt);
  }

  /** Redis has not accepted the end of an attempt, since its lease was lost. */
  refused(task: number, at: number): void {
    this.#write(KINDS.refused, 0, 0, 0, task, at, 0);
  }

  close(): void {
    closeSync(this.#file);
  }

  #write(
    kind: number,
    outcome: number,
    attempt: number,
    execution: number,
    task: number,
    at: number,
    leaseEndsAt: number,
  ): void {
    const bytes = this.#bytes;
    bytes[0] = kind;
    bytes[1] = outcome;
    bytes.writeUInt16LE(attempt, 2);
    bytes.writeUInt32LE(execution, 4);
    bytes.writeUInt32LE(task, 8);
    bytes.writeUInt32LE(process.pid, 12);
    bytes.writeDoubleLE(at, 16);
    bytes.writeDoubleLE(leaseEndsAt, 24);
    writeSync(this.#file, bytes, 0, RECORD_BYTES);
  }
}
