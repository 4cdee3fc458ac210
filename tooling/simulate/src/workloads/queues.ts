/** Processes that enqueue, cancel and work on the tasks of one queue. At the end each task is accounted for. */
import type * as Queues from '@mortise/queues';
import type { Plan } from '../plan.js';
import { FAULTS, LOSSES, SERVER_CLOCK } from '../plan.js';
import { Random } from '../random.js';
import type { Programs, Workload } from '../workload.js';
import type { VirtualProcess } from '../world/process.js';
import type { World } from '../world/world.js';
import { persist } from './persist.js';
import { Operations } from './queue-of-operations.js';
import type { Behaviour, Enqueued, Execution } from './task-ledger.js';
import { isForgotten, TaskLedger } from './task-ledger.js';

const QUEUE = 'q';
const ATTEMPTS = 6;
const LEASE_MS = 1_000;
const OPEN_MS = Infinity;
const READ_STEPS = 20_000;
const READ_MS = 600_000;
const LOOK_MS = 200;
const WAIT_MS = 30_000;
const NAMES = ['work', 'fail once', 'fail', 'discard', 'later', 'steps', 'gather'] as const;
/** Those that a task of its own may have. */
const OWN_NAMES = NAMES.slice(0, -1);
const SCHEDULE_RUNS = 2;
const CHILDREN = ['a', 'b'];

export const queues: Workload = {
  name: 'queues',
  shape: {
    processes: [1, 3],
    operations: [4, 14],
    faults: [...FAULTS, ...SERVER_CLOCK, ...LOSSES],
    mostFaults: 5,
    steps: 500,
    longestMs: 3_000,
  },
  begin: (plan) => new QueuePrograms(plan),
};

interface Setting {
  readonly concurrency: number;
  readonly priorities: number;
  readonly shards: number;
  readonly groups: number;
  readonly ordered: boolean;
  readonly prefetch: number;
}

interface Program {
  readonly process: VirtualProcess;
  readonly queue: Queues.Queue;
  readonly RetryLater: typeof Queues.RetryLater;
  readonly Discard: typeof Queues.Discard;
}

class QueuePrograms implements Programs {
  readonly #operations: Operations;
  readonly #ledger: TaskLedger;
  /** By key: when the schedule was set. */
  readonly #schedules = new Map<string, { readonly calledAt: number; readonly returnedAt: number }>();
  /** Parents that ran before all their children had ended. */
  readonly #early: { readonly text: string; readonly from: number; readonly to: number }[] = [];
  readonly #setting: Setting;
  readonly #hasFaults: boolean;
  /** Producers that have not ended. */
  readonly #producing = new Set<VirtualProcess>();

  constructor(plan: Plan) {
    this.#operations = new Operations(plan);
    const random = new Random(plan.seed, 11);
    const groups = random.isTrue(0.4) ? 2 : 0;
    this.#setting = {
      concurrency: random.pick([1, 2, 5]),
      priorities: random.pick([1, 1, 3]),
      shards: random.pick([1, 1, 1, 3]),
      groups,
      ordered: groups > 0 && random.isTrue(0.5),
      prefetch: random.pick([0, 8]),
    };
    this.#ledger = new TaskLedger(this.#setting.shards);
    this.#hasFaults = plan.faults.some(({ kind }) => kind !== 'clock' && kind !== 'flush scripts');
  }

  start(process: VirtualProcess, number: number): void {
    const { Queue, Worker, RetryLater, Discard } = process.load<typeof Queues>('@mortise/queues');
    const redis = process.connect();
    const { concurrency, prefetch } = this.#setting;
    const queue = new Queue(redis, QUEUE, this.#settings);
    const program = { process, queue, RetryLater, Discard };
    const handlers = Object.fromEntries(
      NAMES.map((name) => [
        name,
        (payload: unknown, ctx: Queues.TaskContext) => this.#handle(program, payload as Behaviour, ctx),
      ]),
    );
    const worker = new Worker(redis, [QUEUE], handlers, {
      leaseMs: LEASE_MS,
      concurrency,
      prefetch,
      backoff: { type: 'fixed', delayMs: 50 },
      onError: () => undefined,
      onFailed: () => undefined,
    });
    void worker.start();
    void this.#produce(program, number);
  }

  /** Those of the queue, which whoever opens it after a loss creates anew. */
  get #settings(): { priorities: string[]; shards: number } {
    const { priorities, shards } = this.#setting;
    return { priorities: ['high', 'normal', 'low'].slice(0, priorities), shards };
  }

  isDone(): boolean {
    for (const process of this.#producing) if (!process.isDead) return false;
    return this.#operations.isEmpty;
  }

  /** Reads all states when no task moves any more. */
  async check(world: World): Promise<readonly string[]> {
    const reader = world.spawn('reader');
    const { Queue, TASK_STATES } = reader.load<typeof Queues>('@mortise/queues');
    const queue = new Queue(reader.connect(), QUEUE, this.#settings);
    const stored = new Map<Queues.TaskState, Queues.Task<Record<string, unknown>>[]>();
    const miscounted: string[] = [];
    let isRead = false;
    const read = async (): Promise<void> => {
      const mayWait = world.server.losses.length > 0;
      let movedAt = reader.now();
      for (;;) {
        // The schedules first: one that has ended has stored its tasks before.
        const hasSchedule = (await queue.schedules()).some(({ nextAt }) => nextAt !== undefined);
        const counts = await queue.counts();
        if (hasSchedule || isMoving(counts)) movedAt = reader.now();
        // Only a parent whose child was forgotten waits for ever. Others go on within this time.
        else if (counts.waiting === 0 || (mayWait && reader.now() - movedAt > WAIT_MS)) break;
        await reader.pause(LOOK_MS);
      }
      const counts = await queue.counts();
      miscounted.length = 0;
      for (const state of TASK_STATES) {
        const { tasks } = await queue.list(state, { limit: 1_000 });
        stored.set(state, [...tasks]);
        if (tasks.length !== counts[state])
          miscounted.push(`miscounted: ${counts[state]} ${state}, but ${tasks.length} are listed`);
      }
      isRead = true;
    };
    void read();
    if (!(await world.runUntil(() => isRead, READ_STEPS, READ_MS)))
      return ['progress: the tasks never come to rest'];
    const ids = [...stored.values()].flat().map(({ id }) => id);
    return [
      ...miscounted,
      ...this.#checkParents(world),
      ...this.#checkSchedules(ids, world),
      ...this.#ledger.check(stored, world, this.#hasFaults),
    ];
  }

  /** A task begins, then Redis loses data: its handler reads what is left. */
  #checkParents({ server }: World): string[] {
    return this.#early
      .filter(({ from, to }) => !server.losses.some((loss) => from - LEASE_MS <= loss.to && to >= loss.from))
      .map(({ text }) => text);
  }

  /** Each schedule had its runs, and no instant twice: the ids of the tasks tell them apart. */
  #checkSchedules(ids: readonly string[], { server }: World): string[] {
    return [...this.#schedules].flatMap(([key, { calledAt, returnedAt }]) => {
      const count = ids.filter((id) => id.startsWith(`${key}@`)).length;
      const isLost = server.mayHaveForgotten(calledAt, returnedAt) || isForgotten(server, `${key}@`);
      return count === SCHEDULE_RUNS || (count < SCHEDULE_RUNS && isLost)
        ? []
        : [`schedule: ${key} has ${count} of ${SCHEDULE_RUNS} tasks`];
    });
  }

  async #produce(program: Program, number: number): Promise<void> {
    const { process } = program;
    this.#producing.add(process);
    await this.#configure(program);
    for (let one = this.#operations.next(number); one; one = this.#operations.next(number))
      await this.#operate(program, one.seed);
    this.#producing.delete(process);
  }

  async #configure({ process, queue }: Program): Promise<void> {
    const { groups, ordered } = this.#setting;
    if (groups === 0) return;
    await persist(process, () =>
      queue.configure({ groups: ordered ? { ordered } : { concurrency: 1 }, concurrency: 3 }),
    );
  }

  async #operate(program: Program, seed: number): Promise<void> {
    const random = new Random(seed);
    await program.process.pause(random.below(30));
    const chance = random.next();
    if (chance < 0.12) await this.#enqueueFlow(program, seed, random);
    else if (chance < 0.18) await this.#schedule(program, seed, random);
    else await this.#enqueue(program, seed, random);
  }

  /** A parent with two children. */
  async #enqueueFlow({ process, queue }: Program, seed: number, random: Random): Promise<void> {
    const id = `f${seed}`;
    const children = CHILDREN.map((part) => ({ id: `${id}${part}`, behaviour: behaviourOf(random) }));
    const isStrict = random.isTrue(0.5);
    const calledAt = process.now();
    const parent = this.#note(id, { does: 'gather', ms: 5 }, calledAt, {
      children: children.map((child) => child.id),
      isStrict,
    });
    const tasks = [parent, ...children.map((child) => this.#note(child.id, child.behaviour, calledAt))];
    await persist(process, () =>
      queue.enqueueFlow({
        name: 'gather',
        payload: parent.behaviour,
        options: { id, attempts: ATTEMPTS },
        onChildFailure: isStrict ? 'fail' : 'ignore',
        children: children.map((child) => ({
          name: child.behaviour.does,
          payload: child.behaviour,
          options: { id: child.id, attempts: ATTEMPTS },
        })),
      }),
    );
    for (const task of tasks) task.acceptedAt = process.now();
  }

  /** Its tasks come from workers. */
  async #schedule({ process, queue }: Program, seed: number, random: Random): Promise<void> {
    const key = `s${seed}`;
    const rule = { everyMs: 1_000, maxRuns: SCHEDULE_RUNS, missed: 'all' } as const;
    const behaviour = behaviourOf(random);
    const calledAt = process.now();
    await persist(process, () =>
      queue.schedule(key, rule, behaviour.does, behaviour, { attempts: ATTEMPTS }),
    );
    this.#schedules.set(key, { calledAt, returnedAt: process.now() });
  }

  #note(id: string, behaviour: Behaviour, calledAt: number, more: Partial<Enqueued> = {}): Enqueued {
    const task = {
      behaviour,
      calledAt,
      acceptedAt: undefined,
      isCancelled: false,
      mayBeCancelled: false,
      ...more,
    };
    this.#ledger.tasks.set(id, task);
    return task;
  }

  async #enqueue({ process, queue }: Program, seed: number, random: Random): Promise<void> {
    const id = `t${seed}`;
    const behaviour = behaviourOf(random);
    const { does } = behaviour;
    const group = this.#setting.groups > 0 ? `g${random.below(this.#setting.groups)}` : undefined;
    const task = this.#note(id, behaviour, process.now(), group === undefined ? {} : { group });
    const delayMs = random.isTrue(0.3) ? random.below(300) : 0;
    const priority = ['high', 'normal', 'low'][random.below(this.#setting.priorities)];
    const cancels = random.isTrue(0.1);
    const options = { id, delayMs, priority, group, attempts: ATTEMPTS };
    // Several tasks go another way than one, which may be handed to an idle worker.
    const isOneOfMany = random.isTrue(0.3);
    await persist<unknown>(process, () =>
      isOneOfMany
        ? queue.enqueueMany([{ name: does, payload: behaviour, options }])
        : queue.enqueue(does, behaviour, options),
    );
    task.acceptedAt = process.now();
    if (!cancels) return;
    task.mayBeCancelled = true;
    await process.pause(random.below(40));
    const calledAt = process.now();
    try {
      task.isCancelled = await queue.cancel(id);
      task.cancelling = { calledAt, returnedAt: process.now() };
    } catch {
      // It may have been cancelled.
    }
  }

  async #handle(
    { process, RetryLater, Discard }: Program,
    { does, ms }: Behaviour,
    ctx: Queues.TaskContext,
  ): Promise<number> {
    const lease = ctx as Queues.TaskContext & { readonly leaseEndsAt: number };
    const execution: Execution = {
      number: this.#ledger.executions.length,
      task: ctx.id,
      attempt: ctx.attempt,
      process,
      beganAt: process.now(),
      leaseEnd: () => process.sinceBegin(lease.leaseEndsAt),
      endedAt: OPEN_MS,
      outcome: 'open',
    };
    this.#ledger.executions.push(execution);
    if (!this.#ledger.tasks.has(ctx.id)) this.#note(ctx.id, { does, ms }, process.now());
    process.note(`runs ${ctx.id} as #${execution.number}, attempt ${ctx.attempt}`);
    await process.pause(ms);
    await this.#act(execution, does, ctx);
    execution.endedAt = process.now();
    process.note(`ends #${execution.number}${ctx.signal.aborted ? ', aborted' : ''}`);
    const isFailing = does === 'fail' || ((does === 'fail once' || does === 'steps') && ctx.attempt === 1);
    execution.outcome = 'returned';
    if (ctx.signal.aborted) execution.outcome = 'aborted';
    else if (isFailing) execution.outcome = 'failed';
    else if (does === 'discard') execution.outcome = 'discarded';
    else if (does === 'later' && process.random.isTrue(0.5)) execution.outcome = 'later';
    if (isFailing) throw withoutStack(new Error('fails'));
    if (does === 'discard') throw withoutStack(new Discard('hopeless'));
    if (execution.outcome === 'later') throw new RetryLater({ delayMs: 10 });
    return execution.number;
  }

  /** The calls of a handler to Redis. A call without a reply fails the attempt. */
  async #act(execution: Execution, does: Behaviour['does'], ctx: Queues.TaskContext): Promise<void> {
    try {
      if (does === 'steps') {
        this.#ledger.step(execution, await ctx.step('first', () => execution.number));
        await ctx.step('second', () => execution.number);
      }
      if (does === 'gather') {
        const ended = (await ctx.children()).length;
        if (ended < CHILDREN.length)
          this.#early.push({
            text: `parents: ${ctx.id} runs, and ${ended} children have ended`,
            from: execution.beganAt,
            to: execution.process.now(),
          });
      }
    } catch (error) {
      execution.endedAt = execution.process.now();
      execution.outcome = 'failed';
      throw withoutStack(error as Error);
    }
  }
}

function behaviourOf(random: Random): Behaviour {
  const does = random.pick(['work', 'work', 'work', ...OWN_NAMES] as const);
  return { does, ms: Math.floor(random.pick([0, 20, LEASE_MS]) * random.next()) };
}

/** Stored stacks would name the folder of this checkout, and histories would differ. */
function withoutStack(error: Error): Error {
  delete error.stack;
  return error;
}

function isMoving({ scheduled, ready, active, retrying }: Queues.Counts): boolean {
  return scheduled + ready + active + retrying > 0;
}
