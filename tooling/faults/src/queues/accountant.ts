/**
 * Accounts for every task of a run: what Redis has of it, what the worker processes have written down of its executions, and
 * the replies to producers. Every difference is a violation; a task that ran more than once needs a reason.
 */
import type { TaskState } from '@mortise/queues';
import { TASK_STATES } from '@mortise/queues';
import type { Executions } from './executions.js';
import { isOpen } from './executions.js';
import type { Outcome } from './records.js';
import type { StoredTasks } from './stored.js';

type Rule =
  /** Accepted, and neither there nor removed by retention. */
  | 'lost'
  /** In more than one state, or twice in one. */
  | 'doubled'
  /** The counts of a queue are others than its lists. */
  | 'miscounted'
  /** Succeeded, dead or removed without an execution that says so. */
  | 'not run'
  /** The end of an attempt counted though another had the task by then. */
  | 'stale completion'
  /** Two attempts ran under leases at the same time. */
  | 'overlap'
  /** Ran again though nothing had happened to the attempt before. */
  | 'unexplained repetition'
  /** An attempt with the number of another that counted. */
  | 'attempt number'
  /** Dead though it had attempts left. */
  | 'died early'
  /** Ended in another way than it had to. */
  | 'wrong end'
  /** Cancelled, and not in that state. */
  | 'cancelled in vain'
  /** Its lease is over for long, and nobody has taken it up. */
  | 'left behind'
  /** A task of an ordered group began before the one before it had ended. */
  | 'group order';

export interface Violation {
  readonly rule: Rule;
  readonly task: number;
  readonly details: string;
}

/** Why a task ran again. */
type Reason =
  | 'retry'
  | 'later'
  | 'timed out'
  | 'given back'
  | 'process killed'
  | 'process killed before it could tell'
  /** By SIGSTOP, for longer than its lease, before it could tell. */
  | 'process stopped'
  | 'lease lost'
  /** Its process stood still, or was held up, between the claim and the handler. */
  | 'lease over before it began'
  | 'fault of Redis or the network';

/** An interval, in µs, in which something was done to Redis or the network. */
export interface Fault {
  readonly from: number;
  readonly to: number;
  /** Replication is asynchronous: what was accepted in it may be gone. */
  readonly mayForget: boolean;
  /** All keys were removed: whatever was accepted before is gone as well. */
  readonly isFlush?: boolean;
}

export interface Evidence {
  readonly tasks: number;
  readonly executions: Executions;
  readonly stored: StoredTasks;
  /** When the producer got the reply that a task is stored, µs; 0 without a reply. */
  readonly acceptedAt: Float64Array;
  /** When a cancellation that was confirmed was sent, µs; 0 for all other tasks. */
  readonly cancelledAt: Float64Array;
  readonly faults: readonly Fault[];
  readonly leaseMs: number;
  /** When Redis was read, ms since the epoch. */
  readonly readAt: number;
  /** Whether retention may have removed tasks that have ended. */
  readonly mayBeRemoved: boolean;
  /** How a task has to end, unless it is cancelled. */
  readonly endOf?: (task: number) => 'succeeded' | 'dead';
  /** Tasks of ordered groups, in the order in which each was enqueued. */
  readonly groups?: Iterable<readonly number[]>;
}

export interface Account {
  readonly violations: readonly Violation[];
  /** How many are where; 'removed' by retention, 'forgotten' by a failover. */
  readonly tasks: Readonly<Record<TaskState | 'removed' | 'forgotten' | 'never accepted', number>>;
  readonly executions: number;
  /** Tasks that ran more than once for another reason than that their handler had asked for it. */
  readonly duplicates: number;
  readonly repetitions: Readonly<Record<Reason, number>>;
}

/** For how long after a fault something that it has caused may happen. */
const AFTERMATH_LEASES = 2;
/** How long a lease may be over before somebody has to have looked, ms. */
const OVERDUE_MS = 1_000;
const ASKED_FOR: ReadonlySet<Reason> = new Set(['retry', 'later']);
const REASON_OF: Partial<Record<Outcome, Reason>> = {
  failed: 'retry',
  later: 'later',
  'timed out': 'timed out',
  stopped: 'given back',
  'lease lost': 'lease lost',
};
const STATE_OF = Object.fromEntries(TASK_STATES.map((state, index) => [state, index + 1])) as Record<
  TaskState,
  number
>;

export function account(evidence: Evidence): Account {
  return new Accountant(evidence).account();
}

/** Where tasks are that have not ended, for a run in which all had the time to. */
export function unfinishedOf({ scheduled, ready, active, retrying, waiting }: Account['tasks']): string[] {
  const left = Object.entries({ scheduled, ready, active, retrying, waiting }).filter(
    ([, count]) => count > 0,
  );
  return left.map(([state, count]) => `${count} tasks are still ${state}`);
}

class Accountant {
  readonly #violations: Violation[] = [];
  readonly #repetitions: Record<Reason, number> = {
    retry: 0,
    later: 0,
    'timed out': 0,
    'given back': 0,
    'process killed': 0,
    'process killed before it could tell': 0,
    'process stopped': 0,
    'lease lost': 0,
    'lease over before it began': 0,
    'fault of Redis or the network': 0,
  };
  #duplicates = 0;
  /** 1: an execution of it came to its end. */
  readonly #hasReturned: Uint8Array;
  readonly #hasRun: Uint8Array;
  readonly #evidence: Evidence;

  constructor(evidence: Evidence) {
    this.#evidence = evidence;
    this.#hasReturned = new Uint8Array(evidence.tasks);
    this.#hasRun = new Uint8Array(evidence.tasks);
  }

  account(): Account {
    const { tasks, executions, stored, groups } = this.#evidence;
    executions.eachTask(tasks, (task, own) => this.#lookAtExecutions(task, own));
    const states = this.#lookAtStates();
    for (const task of stored.doubled) this.#violate('doubled', task, 'stands in more than one place');
    for (const details of stored.miscounted) this.#violate('miscounted', -1, details);
    if (groups) this.#lookAtGroups(groups);
    return {
      violations: this.#violations,
      tasks: states,
      executions: executions.count,
      duplicates: this.#duplicates,
      repetitions: this.#repetitions,
    };
  }

  #lookAtExecutions(task: number, own: Uint32Array): void {
    const { executions, stored } = this.#evidence;
    this.#hasRun[task] = 1;
    let isDuplicate = false;
    let before: number | undefined;
    for (const execution of own) {
      if (executions.outcomeOf(execution) === 'returned') this.#hasReturned[task] = 1;
      if (executions.isVoid(execution)) {
        // Another one may have the task by then, or have done it.
        this.#repetitions['lease over before it began'] += 1;
        isDuplicate ||= own.length > 1;
        continue;
      }
      if (before !== undefined) {
        const reason = this.#reasonOf(before, execution);
        if (reason) this.#repetitions[reason] += 1;
        else this.#violate('unexplained repetition', task, this.#describe(before, execution));
        isDuplicate ||= reason === undefined || !ASKED_FOR.has(reason);
        this.#compare(task, before, execution, reason);
      }
      before = execution;
    }
    if (isDuplicate) this.#duplicates += 1;
    if (stored.state[task] === STATE_OF.succeeded) this.#lookAtResult(task, own);
  }

  #compare(task: number, before: number, execution: number, reason: Reason | undefined): void {
    const { executions } = this.#evidence;
    if (this.#isForgiven(executions.beganAt[before]!, executions.beganAt[execution]!)) return;
    if (executions.validUntil[before]! > executions.beganAt[execution]!) {
      this.#violate('overlap', task, this.#describe(before, execution));
    }
    const [attempt, next] = [executions.attempt[before]!, executions.attempt[execution]!];
    const isSameAllowed = reason === 'later' || reason === 'given back';
    if (next < attempt || (next === attempt && !isSameAllowed)) {
      this.#violate('attempt number', task, this.#describe(before, execution));
    }
  }

  /** Why a task ran again after this execution; undefined: there is no reason. */
  #reasonOf(before: number, next: number): Reason | undefined {
    return REASON_OF[this.#evidence.executions.outcomeOf(before)] ?? this.#lossOf(before, next);
  }

  /** The fault that may have lost the result of an execution. */
  #lossOf(before: number, next: number): Reason | undefined {
    const { executions, leaseMs } = this.#evidence;
    const { killedAt, stops } = executions.sourceOf(before);
    const outcome = executions.outcomeOf(before);
    const wasStopped = stops.some(
      ({ from, to }) => from <= executions.beganAt[next]! && executions.beganAt[before]! <= to,
    );
    if (outcome === 'open') {
      if (killedAt <= executions.beganAt[next]!) return 'process killed';
      return wasStopped ? 'process stopped' : undefined;
    }
    const endedAt = executions.endedAt[before]!;
    if (this.#hasFault(endedAt, executions.beganAt[next]!)) return 'fault of Redis or the network';
    if (killedAt - endedAt < leaseMs * 1_000 && killedAt <= executions.beganAt[next]!) {
      return 'process killed before it could tell';
    }
    if (wasStopped) return 'process stopped';
    const isLate = executions.validUntil[before]! < endedAt || executions.isRefused[before] === 1;
    return isLate || outcome === 'lease lost' ? 'lease lost' : undefined;
  }

  /** A result tells which execution counted: nobody else can have been given the task after that one. */
  #lookAtResult(task: number, own: Uint32Array): void {
    const { executions, stored } = this.#evidence;
    const counted = executions.find(stored.result[task]!);
    if (counted < 0 || executions.task[counted] !== task) {
      this.#violate('not run', task, `has the result ${stored.result[task]}, which nobody has written down`);
      return;
    }
    const attempt = executions.attempt[counted]!;
    const later = own.find(
      (other) =>
        executions.attempt[other]! > attempt ||
        (executions.attempt[other] === attempt &&
          executions.beganAt[other]! > executions.beganAt[counted]! &&
          !executions.isVoid(other)),
    );
    if (later === undefined) return;
    if (this.#isForgiven(executions.beganAt[counted]!, executions.beganAt[later]!)) return;
    this.#violate('stale completion', task, this.#describe(counted, later));
  }

  #lookAtStates(): Account['tasks'] {
    const { tasks, stored, acceptedAt, cancelledAt, faults, leaseMs, mayBeRemoved, readAt } = this.#evidence;
    const counts = { removed: 0, forgotten: 0, 'never accepted': 0 } as Record<string, number>;
    for (const state of TASK_STATES) counts[state] = 0;
    for (let task = 0; task < tasks; task += 1) {
      const state = TASK_STATES[stored.state[task]! - 1];
      if (state) counts[state]! += 1;
      else if (acceptedAt[task] === 0) counts['never accepted']! += 1;
      else if (mayBeRemoved && this.#hasReturned[task] === 1) counts['removed']! += 1;
      else if (faults.some((fault) => mayHaveTaken(fault, acceptedAt[task]!))) counts['forgotten']! += 1;
      else this.#violate('lost', task, `was accepted, and Redis doesn't know it`);
      if (cancelledAt[task]! > 0 && state !== 'cancelled') {
        const isExcused = faults.some(({ mayForget }) => mayForget);
        if (!isExcused) this.#violate('cancelled in vain', task, `is ${state ?? 'gone'}`);
      }
      if (state === 'succeeded' && this.#hasRun[task] === 0) this.#violate('not run', task, 'has succeeded');
      if (state === 'dead') this.#lookAtDead(task);
      if (state === 'succeeded' || state === 'dead') {
        const end = this.#evidence.endOf?.(task) ?? state;
        if (state !== end) this.#violate('wrong end', task, `is ${state} and not ${end}`);
      }
      const leaseUntil = stored.leases.get(task);
      if (leaseUntil !== undefined && readAt - leaseUntil > OVERDUE_MS + leaseMs / 10) {
        this.#violate('left behind', task, `its lease has been over for ${readAt - leaseUntil} ms`);
      }
    }
    return counts as unknown as Account['tasks'];
  }

  #lookAtDead(task: number): void {
    const { stored } = this.#evidence;
    const [attempt, attempts] = [stored.attempt[task]!, stored.attempts[task]!];
    const error = stored.errors.get(task) ?? '';
    if (attempt >= attempts || error.includes('hopeless')) return;
    this.#violate('died early', task, `attempt ${attempt} of ${attempts}: ${error}`);
  }

  #lookAtGroups(groups: Iterable<readonly number[]>): void {
    const { tasks, executions, cancelledAt } = this.#evidence;
    const beganAt = new Float64Array(tasks).fill(Infinity);
    const validUntil = new Float64Array(tasks);
    const forgivenAt = new Uint8Array(tasks);
    for (let execution = 0; execution < executions.count; execution += 1) {
      const task = executions.task[execution]!;
      const [began, until] = [executions.beganAt[execution]!, executions.validUntil[execution]!];
      beganAt[task] = Math.min(beganAt[task]!, began);
      validUntil[task] = Math.max(validUntil[task]!, until);
      if (this.#isForgiven(began, until)) forgivenAt[task] = 1;
    }
    // A group continues after a cancelled task; its handler has a signal to end.
    for (let task = 0; task < tasks; task += 1) {
      if (cancelledAt[task]! > 0) validUntil[task] = Math.min(validUntil[task]!, cancelledAt[task]!);
    }
    for (const group of groups) {
      const run = group.filter((task) => beganAt[task]! < Infinity);
      for (const [index, task] of run.slice(1).entries()) {
        const before = run[index]!;
        if (beganAt[task]! >= validUntil[before]! || forgivenAt[task] === 1) continue;
        const us = validUntil[before]! - beganAt[task]!;
        this.#violate('group order', task, `began ${us} µs before the end of task ${before}`);
      }
    }
  }

  #hasFault(from: number, to: number): boolean {
    const aftermath = AFTERMATH_LEASES * this.#evidence.leaseMs * 1_000;
    return this.#evidence.faults.some((fault) => fault.from <= to && from <= fault.to + aftermath);
  }

  /** Whether something that was accepted in between may have been forgotten. */
  #isForgiven(from: number, to: number): boolean {
    const aftermath = AFTERMATH_LEASES * this.#evidence.leaseMs * 1_000;
    return this.#evidence.faults.some(
      (fault) => fault.mayForget && fault.from - aftermath <= to && from <= fault.to + aftermath,
    );
  }

  #describe(before: number, next: number): string {
    const { executions } = this.#evidence;
    return [before, next]
      .map((execution) => {
        const end = isOpen(executions, execution) ? '…' : executions.endedAt[execution]!.toFixed(0);
        const { worker, number, attempt, beganAt, validUntil } = executions;
        const until = validUntil[execution]!.toFixed(0);
        const name = `w${worker[execution]}#${number[execution]} attempt ${attempt[execution]}`;
        return `${name} ${executions.outcomeOf(execution)} ${beganAt[execution]!.toFixed(0)}–${end}, valid until ${until}`;
      })
      .join('; then ');
  }

  #violate(rule: Rule, task: number, details: string): void {
    this.#violations.push({ rule, task, details });
  }
}

/** Whether a task that was accepted then may be gone. */
function mayHaveTaken({ from, to, mayForget, isFlush = false }: Fault, at: number): boolean {
  return mayForget && (isFlush || from <= at) && at <= to;
}
