/** The knowledge of a run about each task: replies to producers, and executions. The ledger compares it with Redis at the end. */
import type { Task, TaskState } from '@mortise/queues';
import type { CommandArgument } from '@mortise/redis';
import { keySlot } from '@mortise/redis';
import type { VirtualProcess } from '../world/process.js';
import type { ServerState, Span } from '../world/server-state.js';
import type { World } from '../world/world.js';

/** The way in which the handler of a task ends. */
export interface Behaviour {
  readonly does: 'work' | 'fail once' | 'fail' | 'discard' | 'later' | 'steps' | 'gather';
  readonly ms: number;
}

export interface Execution {
  readonly number: number;
  readonly task: string;
  readonly attempt: number;
  readonly process: VirtualProcess;
  /** ms since the world began. */
  readonly beganAt: number;
  /** Until when its worker relies on the lease; the worker moves it by renewals. */
  readonly leaseEnd: () => number;
  endedAt: number;
  outcome: 'open' | 'returned' | 'failed' | 'later' | 'discarded' | 'aborted';
}

export interface Enqueued {
  readonly behaviour: Behaviour;
  readonly group?: string;
  /** When the first call was made, ms since the world began. */
  readonly calledAt: number;
  /** When a reply came. */
  acceptedAt: number | undefined;
  /** Of a parent. */
  readonly children?: readonly string[];
  /** Whether a parent dies with a child. */
  readonly isStrict?: boolean;
  isCancelled: boolean;
  /** When it was cancelled, by its caller. */
  cancelling?: { readonly calledAt: number; readonly returnedAt: number };
  /** A cancellation whose reply was lost may have happened. */
  mayBeCancelled: boolean;
}

type Stored = Task<Record<string, unknown>>;

/** A lease is as old as this when a handler begins. */
const LEASE_MS = 1_000;
const ENDS = new Set<TaskState>(['succeeded', 'dead', 'cancelled']);

export class TaskLedger {
  readonly tasks = new Map<string, Enqueued>();
  readonly executions: Execution[] = [];
  readonly #violations: string[] = [];
  /** Results of steps that handlers got, by task. */
  readonly #steps: { readonly task: string; readonly value: number; readonly at: number }[] = [];
  readonly #shards: number;
  #killedAt: ReadonlyMap<string, number> = new Map();
  #server!: ServerState;
  /** When leases may have ended early, or tasks were lost. */
  #disturbances: readonly Span[] = [];

  constructor(shards: number) {
    this.#shards = shards;
  }

  /** Notes the result of a step, which each later attempt must get too. */
  step({ task, process }: Execution, value: number): void {
    this.#steps.push({ task, value, at: process.now() });
  }

  check(
    stored: ReadonlyMap<TaskState, readonly Stored[]>,
    { killed, server }: World,
    hasFaults: boolean,
  ): readonly string[] {
    this.#killedAt = killed;
    this.#server = server;
    this.#disturbances = [...server.losses, ...server.skews];
    const found = new Map<string, Stored>();
    for (const [state, tasks] of stored) {
      for (const task of tasks) {
        if (found.has(task.id))
          this.#violate('doubled', task.id, `is ${state} and ${found.get(task.id)!.state}`);
        found.set(task.id, task);
      }
    }
    for (const [id, task] of this.tasks) {
      this.#checkTask(id, task, found);
      if (task.children) this.#checkParent(id, task, found);
    }
    for (const id of found.keys())
      if (!this.tasks.has(id)) this.#violate('not enqueued', id, 'nobody has enqueued it');
    for (const id of this.tasks.keys()) {
      const own = this.executions.filter(({ task }) => task === id);
      this.#checkExecutions(id, own, found.get(id), hasFaults);
    }
    this.#checkGroups();
    this.#checkSteps();
    return this.#violations;
  }

  #checkTask(id: string, task: Enqueued, found: ReadonlyMap<string, Stored>): void {
    const stored = found.get(id);
    const own = this.executions.filter((execution) => execution.task === id);
    if (!stored) {
      if (isForgotten(this.#server, id)) return;
      if (task.acceptedAt !== undefined) this.#violate('lost', id, 'was accepted, and Redis has it no more');
      else if (own.length > 0) this.#violate('lost', id, 'has run, and Redis has it no more');
      return;
    }
    const { state } = stored;
    const mayWait = state === 'waiting' && this.#waitsForLost(id, task, found);
    if (!ENDS.has(state) && !mayWait) this.#violate('left behind', id, `is ${state} at the end`);
    if (state === 'succeeded' && own.length === 0) this.#violate('not run', id, 'has succeeded');
    if (state === 'cancelled' && !task.mayBeCancelled)
      this.#violate('wrong end', id, 'nobody has cancelled it');
    const { calledAt, returnedAt } = task.cancelling ?? { calledAt: 0, returnedAt: 0 };
    if (task.isCancelled && state !== 'cancelled' && !this.#server.mayHaveForgotten(calledAt, returnedAt))
      this.#violate('cancelled in vain', id, `is ${state}`);
    if (state === 'dead') this.#checkDead(id, task, stored);
    if (state === 'succeeded' && (task.behaviour.does === 'fail' || task.behaviour.does === 'discard'))
      this.#violate('wrong end', id, `a task that must ${task.behaviour.does} has succeeded`);
  }

  /**
   * A process stores a child in another shard, or reports its end there, and then removes its own note of it. A failover may take back
   * the former only, and nothing tells the parent any more. Within a shard the note stays until the other is there. Or the first shard has
   * lost its settings, and is taken for one of a queue that was removed, which gets no reports.
   */
  #waitsForLost(id: string, { children = [] }: Enqueued, found: ReadonlyMap<string, Stored>): boolean {
    return children.some(
      (child) =>
        this.#shardOf(child) !== this.#shardOf(id) &&
        (areSettingsForgotten(this.#server) ||
          (found.has(child) ? isReportForgotten(this.#server, id, child) : isForgotten(this.#server, child))),
    );
  }

  #shardOf(id: string): number {
    return keySlot(`\0${id}`) % this.#shards;
  }

  /** A strict parent dies with a child; any other one runs. */
  #checkParent(id: string, task: Enqueued, found: ReadonlyMap<string, Stored>): void {
    const { children = [], isStrict } = task;
    const state = found.get(id)?.state;
    const isFailed = children.some((child) => ['dead', 'cancelled'].includes(found.get(child)?.state ?? ''));
    // A child that has ended may run again, and end otherwise, after the report of its first end.
    if (state === undefined || [id, ...children].some((one) => isForgotten(this.#server, one))) return;
    if (isStrict && isFailed && state !== 'dead')
      this.#violate('wrong end', id, `is ${state}, and a child failed`);
  }

  #checkDead(id: string, { behaviour, isStrict }: Enqueued, { attempt, attempts, error }: Stored): void {
    const mustDie = behaviour.does === 'discard' || behaviour.does === 'fail';
    if (isStrict) return;
    if (behaviour.does === 'discard' && (error?.message ?? '').includes('hopeless')) return;
    if (attempt < attempts) this.#violate('died early', id, `attempt ${attempt} of ${attempts}`);
    else if (!mustDie && !/lease|abandon|lost/i.test(error?.message ?? ''))
      this.#violate('wrong end', id, `is dead: ${error?.message}`);
  }

  #checkExecutions(
    id: string,
    own: readonly Execution[],
    stored: Stored | undefined,
    hasFaults: boolean,
  ): void {
    const until = (execution: Execution): number => this.#until(execution);
    const counted = own.filter((execution) => this.#hasCounted(execution));
    for (const [index, next] of counted.entries()) {
      const before = counted[index - 1];
      if (!before) continue;
      const pair = `${shown(before, until(before))}; then ${shown(next, until(next))}`;
      if (this.#isDisturbed(before.beganAt - LEASE_MS, Math.max(until(before), next.beganAt))) continue;
      if (until(before) > next.beganAt) this.#violate('overlap', id, pair);
      const isSameAllowed = before.outcome === 'later' || before.outcome === 'aborted';
      if (next.attempt < before.attempt || (next.attempt === before.attempt && !isSameAllowed))
        this.#violate('attempt number', id, pair);
      if (!hasFaults && before.outcome !== 'failed' && before.outcome !== 'later')
        this.#violate('unexplained repetition', id, pair);
    }
    if (stored?.state === 'succeeded') this.#checkResult(id, Number(stored.result), counted);
  }

  /** Groups run one task at a time. A cancelled task frees its group at once. */
  #checkGroups(): void {
    const last = new Map<string, Execution>();
    for (const execution of this.executions) {
      const { group, mayBeCancelled } = this.tasks.get(execution.task) ?? {};
      if (group === undefined || mayBeCancelled || !this.#hasCounted(execution)) continue;
      const before = last.get(group);
      const isExcused = before && this.#isDisturbed(0, this.#until(before));
      if (before && !isExcused && this.#until(before) > execution.beganAt) {
        const pair = `${shown(before, this.#until(before))}; then ${shown(execution)}`;
        this.#violate('group limit', execution.task, `runs beside ${before.task}: ${pair}`);
      }
      if (!before || this.#until(before) < this.#until(execution)) last.set(group, execution);
    }
  }

  #checkSteps(): void {
    const known = new Map<string, { readonly value: number; readonly at: number }>();
    for (const { task, value, at } of this.#steps) {
      const before = known.get(task);
      if (before && before.value !== value && !this.#isDisturbed(before.at - LEASE_MS, at))
        this.#violate('step', task, `had the result ${before.value}, and then ${value}`);
      known.set(task, { value, at });
    }
  }

  /** Until when its worker relied on it. */
  #until({ process, endedAt, leaseEnd }: Execution): number {
    return Math.min(endedAt, leaseEnd(), this.#killedAt.get(process.name) ?? Infinity);
  }

  #hasCounted(execution: Execution): boolean {
    return this.#until(execution) > execution.beganAt;
  }

  /** The result tells which execution counted. */
  #checkResult(id: string, result: number, counted: readonly Execution[]): void {
    const winner = this.executions.find(({ number }) => number === result);
    if (winner?.task !== id) {
      this.#violate('not run', id, `has the result ${result}, which no execution of it returned`);
      return;
    }
    const later = counted.find(({ number, attempt }) => number > result && attempt > winner.attempt);
    const isExcused =
      later && this.#isDisturbed(winner.beganAt - LEASE_MS, this.#until(later), this.#server.losses);
    if (later && !isExcused) this.#violate('stale completion', id, `${shown(winner)}; then ${shown(later)}`);
  }

  /** A lease that began before the end of a disturbance may have ended early. */
  #isDisturbed(from: number, to: number, by = this.#disturbances): boolean {
    return by.some((one) => from <= one.to && to >= one.from);
  }

  #violate(rule: string, task: string, details: string): void {
    this.#violations.push(`${rule}: task ${task} ${details}`);
  }
}

/** Whether a loss has undone a command that named a task of this id, or tasks of a schedule by the beginning of their ids. */
export function isForgotten({ forgotten }: ServerState, id: string): boolean {
  return forgotten.some(({ executed }) => executed.args.some((arg) => namesTask(textOf(arg), id)));
}

function isReportForgotten({ forgotten }: ServerState, parent: string, child: string): boolean {
  return forgotten.some(({ executed: { args } }) => {
    const texts = args.map(textOf);
    return (
      texts.some((text) => namesTask(text, parent)) &&
      texts.some((text) => text.includes(`"id":${JSON.stringify(child)}`))
    );
  });
}

/** Of the first shard: those that `shard.configure` has stored, the only script with four keys that begin with them. */
function areSettingsForgotten({ forgotten }: ServerState): boolean {
  return forgotten.some(
    ({ executed: { args } }) => args[1] === 4 && String(args[2]).endsWith('{q}:settings'),
  );
}

/** Scripts get ids within other bytes. The id of a child is that of its parent and a letter. */
function namesTask(text: string, id: string): boolean {
  for (let at = text.indexOf(id); at >= 0; at = text.indexOf(id, at + 1))
    if (!/[a-z]/.test(text.charAt(at + id.length))) return true;
  return false;
}

function textOf(arg: CommandArgument): string {
  return Buffer.isBuffer(arg) ? arg.toString('latin1') : String(arg);
}

function shown({ process, number, attempt, beganAt, endedAt, outcome }: Execution, until?: number): string {
  const valid = until === undefined ? '' : `, valid until ${until.toFixed(1)}`;
  return `${process.name}#${number} attempt ${attempt} ${outcome} ${beganAt.toFixed(1)}–${endedAt.toFixed(1)}${valid}`;
}
