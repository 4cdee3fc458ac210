/**
 * All executions of a run, in columns of numbers: a million of them take 50 MB. An execution is valid from its begin until its
 * end, or until the end of its lease as its process knew it, whatever comes first: after that another may run the same task.
 */
import { readFileSync } from 'node:fs';
import { codeOf, KINDS, OUTCOMES, RECORD_BYTES } from './records.js';
import type { Outcome } from './records.js';

export interface Source {
  readonly worker: number;
  readonly file: string;
  /** From when on it can be gone by a signal or an error, µs; infinite. */
  readonly killedAt: number;
  /** When it stood still, µs. */
  readonly stops: readonly { readonly from: number; readonly to: number }[];
}

const OPEN = codeOf('open');

export class Executions {
  readonly count: number;
  readonly worker: Uint16Array;
  /** The number of an execution in its process. */
  readonly number: Uint32Array;
  readonly task: Uint32Array;
  readonly attempt: Uint16Array;
  readonly outcome: Uint8Array;
  /** µs. */
  readonly beganAt: Float64Array;
  /** µs; infinite for one that has not ended. */
  readonly endedAt: Float64Array;
  readonly validUntil: Float64Array;
  /** The remaining time of its lease when it began, µs. */
  readonly leaseLeft: Float64Array;
  /** 1: Redis refused the result of this execution. */
  readonly isRefused: Uint8Array;
  readonly sources: readonly Source[];
  readonly #isVoid: Uint8Array;
  /** The first execution of each process. */
  readonly #first = new Map<number, number>();
  readonly #sizes = new Map<number, number>();

  private constructor(count: number, sources: readonly Source[]) {
    this.count = count;
    this.sources = sources;
    this.worker = new Uint16Array(count);
    this.number = new Uint32Array(count);
    this.task = new Uint32Array(count);
    this.attempt = new Uint16Array(count);
    this.outcome = new Uint8Array(count);
    this.beganAt = new Float64Array(count);
    this.endedAt = new Float64Array(count).fill(Infinity);
    this.validUntil = new Float64Array(count);
    this.leaseLeft = new Float64Array(count);
    this.isRefused = new Uint8Array(count);
    this.#isVoid = new Uint8Array(count);
  }

  /** Reads the files one after the other. */
  static read(sources: readonly Source[]): Executions {
    const sizes = sources.map(({ file }) => countBegun(readFileSync(file)));
    const executions = new Executions(
      sizes.reduce((sum, size) => sum + size, 0),
      sources,
    );
    let first = 0;
    for (const [index, source] of sources.entries()) {
      executions.#fill(source, first, sizes[index]!);
      first += sizes[index]!;
    }
    return executions;
  }

  /** The one that a result names, or -1. */
  find(result: number): number {
    const worker = Math.floor(result / 2 ** 32);
    const number = result % 2 ** 32;
    const first = this.#first.get(worker);
    return first === undefined || !(number < this.#sizes.get(worker)!) ? -1 : first + number;
  }

  outcomeOf(execution: number): Outcome {
    return OUTCOMES[this.outcome[execution]!]!;
  }

  /** It began when its lease was over: it never counted, unless nobody else has taken the task. */
  isVoid(execution: number): boolean {
    return this.#isVoid[execution] === 1;
  }

  sourceOf(execution: number): Source {
    return this.sources.find(({ worker }) => worker === this.worker[execution])!;
  }

  /** For the tasks 0 to `tasks` - 1: calls back with the executions of each that has some, in the order of their begin. */
  eachTask(tasks: number, look: (task: number, executions: Uint32Array) => void): void {
    const { order, firstOf } = this.#byTask(tasks);
    for (let task = 0; task < tasks; task += 1) {
      const [from, to] = [firstOf[task]!, firstOf[task + 1]!];
      if (from === to) continue;
      const own = order.subarray(from, to);
      if (own.length > 1) own.sort((a, b) => this.beganAt[a]! - this.beganAt[b]!);
      look(task, own);
    }
  }

  #byTask(tasks: number): { order: Uint32Array; firstOf: Uint32Array } {
    const firstOf = new Uint32Array(tasks + 1);
    for (const task of this.task) {
      if (task >= tasks) throw new RangeError(`there is no task ${task} in this run`);
      firstOf[task + 1]! += 1;
    }
    for (let task = 0; task < tasks; task += 1) firstOf[task + 1]! += firstOf[task]!;
    const next = firstOf.slice();
    const order = new Uint32Array(this.count);
    for (let execution = 0; execution < this.count; execution += 1) {
      const task = this.task[execution]!;
      order[next[task]!] = execution;
      next[task]! += 1;
    }
    return { order, firstOf };
  }

  #fill({ worker, file, killedAt }: Source, first: number, size: number): void {
    const bytes = readFileSync(file);
    this.#first.set(worker, first);
    this.#sizes.set(worker, size);
    const lastOf = new Map<number, number>();
    const endedOf = new Map<number, number>();
    /** Refused while another execution of the task ran in this process: the ones before. */
    const doubtfulOf = new Map<number, number>();
    for (let at = 0; at + RECORD_BYTES <= bytes.length; at += RECORD_BYTES) {
      const kind = bytes[at]!;
      const number = bytes.readUInt32LE(at + 4);
      const task = bytes.readUInt32LE(at + 8);
      const instant = bytes.readDoubleLE(at + 16);
      const leaseEndsAt = bytes.readDoubleLE(at + 24);
      const execution = first + number;
      if (kind === KINDS.begin) {
        this.worker[execution] = worker;
        this.number[execution] = number;
        this.task[execution] = task;
        this.attempt[execution] = bytes.readUInt16LE(at + 2);
        this.beganAt[execution] = instant;
        this.leaseLeft[execution] = leaseEndsAt - instant;
        this.#isVoid[execution] = Number(leaseEndsAt <= instant);
        // Renewals are not written down: that is until when it was valid at least.
        this.validUntil[execution] = Math.min(leaseEndsAt, killedAt);
        lastOf.set(task, execution);
      } else if (kind === KINDS.end) {
        this.outcome[execution] = bytes[at + 1]!;
        this.endedAt[execution] = instant;
        this.validUntil[execution] = Math.min(instant, leaseEndsAt);
        endedOf.set(task, execution);
        // It was its own renewal.
        if (this.outcomeOf(execution) === 'lease lost') doubtfulOf.delete(task);
      } else {
        const [last, ended] = [lastOf.get(task), endedOf.get(task)];
        if (ended !== undefined && ended !== last) doubtfulOf.set(task, ended);
        else if (last !== undefined) this.isRefused[last] = 1;
      }
    }
    // Their ends: the call that brought the task again was answered before the one that said so.
    for (const execution of doubtfulOf.values()) this.isRefused[execution] = 1;
  }
}

export function isOpen(executions: Executions, execution: number): boolean {
  return executions.outcome[execution] === OPEN;
}

function countBegun(bytes: Buffer): number {
  let count = 0;
  for (let at = 0; at + RECORD_BYTES <= bytes.length; at += RECORD_BYTES) {
    if (bytes[at] === KINDS.begin) count += 1;
  }
  return count;
}
