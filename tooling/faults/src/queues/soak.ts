/**
 * The soak: tasks of all kinds in two queues, one without optional features and one with shards, groups and
 * cancellations, while worker processes and Redis are killed and stopped at random. Redis appends each write to its file
 * before it answers, so nothing may be lost.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { RedisServer } from '@mortise/redis-server';
import type { Account } from './accountant.js';
import type { PlannedTask } from './producer.js';
import { QueueRun } from './queue-run.js';

export interface SoakOptions {
  readonly prefix: string;
  readonly tasks: number;
  /** Processes at a time. */
  readonly workers?: number;
  /** Kills of workers, spread over the run. */
  readonly kills?: number;
  /** Kills of Redis. */
  readonly restarts?: number;
  readonly leaseMs?: number;
}

export interface SoakReport {
  readonly account: Account;
  readonly kills: number;
  readonly stops: number;
  readonly suicides: number;
  readonly restarts: number;
  readonly repeatedEnqueues: number;
  readonly seconds: number;
  /** Until everything has ended; what follows is the account. */
  readonly runSeconds: number;
}

const QUEUES = ['plain', 'rich'] as const;
const GROUPS = 100;
const DEADLY: ReadonlySet<string> = new Set(['fail', 'discard', 'poison']);
/** The part of the kills that are a SIGSTOP past the lease instead. */
const STOPPED_PART = 0.25;
const CHUNK = 2_000;
const CANCELLED_AT_ONCE = 20;

export class Soak {
  readonly #server: RedisServer;
  readonly #options: Required<SoakOptions>;
  readonly #run: QueueRun;
  readonly #groups = new Map<string, number[]>();
  #kills = 0;
  #stops = 0;
  #restarts = 0;
  #isOver = false;

  constructor(server: RedisServer, options: SoakOptions) {
    this.#server = server;
    const kills = Math.ceil(Math.min(60, 8 + options.tasks / 20_000));
    this.#options = { workers: 3, kills, restarts: 2, leaseMs: 2_000, ...options };
    const { prefix, tasks, leaseMs } = this.#options;
    this.#run = new QueueRun(
      { url: server.url },
      {
        prefix,
        tasks,
        queues: QUEUES,
        queueOptions: (name) => ({ keepCancelled: tasks, ...(name === 'rich' && { shards: 2 }) }),
        plan: (task) => this.#plan(task),
        chunk: CHUNK,
        workers: { leaseMs, concurrency: 200, backoff: { type: 'fixed', delayMs: 20 } },
      },
    );
  }

  async run(): Promise<SoakReport> {
    const startedAt = performance.now();
    const run = this.#run;
    await run.queues[1]!.configure({ groups: { ordered: true } });
    await run.fleet.start(this.#options.workers);
    const endReplacing = run.fleet.keep(this.#options.workers);
    const killing = this.#kill();
    try {
      await Promise.all([run.producer.run(), this.#cancel()]);
      await this.#untilDone();
    } finally {
      this.#isOver = true;
      await Promise.all([endReplacing(), killing]);
    }
    const runSeconds = (performance.now() - startedAt) / 1_000;
    const account = await run.verdict({
      groups: this.#groups.values(),
      endOf: (task) => (DEADLY.has(this.#plan(task).name) ? 'dead' : 'succeeded'),
    });
    return {
      account,
      kills: this.#kills,
      stops: this.#stops,
      suicides: run.fleet.workers.filter(({ isSuicide }) => isSuicide).length,
      restarts: this.#restarts,
      repeatedEnqueues: run.producer.repeated,
      seconds: (performance.now() - startedAt) / 1_000,
      runSeconds,
    };
  }

  async dispose(): Promise<void> {
    this.#isOver = true;
    await this.#run.dispose();
  }

  #plan(task: number): PlannedTask {
    const { tasks } = this.#options;
    // Three that end their process, twice each.
    if (task % Math.ceil(tasks / 3) === 101) {
      return { name: 'poison', payload: 2, options: { attempts: 2 } };
    }
    const random = randomOf(task);
    const priority = ['high', 'medium', 'low'][Math.floor(randomOf(task + 0.25) * 3)]!;
    if (task % 2 === 1 && random > 0.9) return this.#ofGroup(task);
    if (random < 0.05) return { name: 'fail once', payload: null, options: { priority } };
    if (random < 0.055) return { name: 'fail', payload: null, options: { priority, attempts: 3 } };
    if (random < 0.06) return { name: 'discard', payload: null, options: { priority } };
    if (random < 0.07) return { name: 'later', payload: null, options: { priority } };
    if (random < 0.12) return { name: 'sleep', payload: Math.ceil(random * 80), options: { priority } };
    if (random < 0.17) {
      return {
        name: 'work',
        payload: null,
        options: { priority, delayMs: Math.ceil((random - 0.12) * 50_000) },
      };
    }
    return {
      name: 'work',
      payload: { some: 'payload', of: task, with: 'about a hundred bytes '.repeat(2) },
      options: { priority },
    };
  }

  #ofGroup(task: number): PlannedTask {
    const group = `group ${Math.floor(randomOf(task + 0.5) * GROUPS)}`;
    const members = this.#groups.get(group) ?? [];
    // A plan may be asked for twice.
    if ((members.at(-1) ?? -1) < task) members.push(task);
    this.#groups.set(group, members);
    const name = randomOf(task + 0.75) < 0.05 ? 'fail once' : 'work';
    return { name, payload: null, options: { group } };
  }

  /** In the second queue: one task in 100, whatever it is at, and those that wait long enough for it. */
  async #cancel(): Promise<void> {
    const { producer } = this.#run;
    const { tasks } = this.#options;
    const calls: Promise<unknown>[] = [];
    let batch: number[] = [];
    for (let task = 1; task < tasks; task += 2) {
      const { delayMs = 0 } = this.#plan(task).options ?? {};
      if (task % 200 === 1 || delayMs > 2_000) batch.push(task);
      if (batch.length < CANCELLED_AT_ONCE && task + 2 < tasks) continue;
      const last = batch.at(-1) ?? 0;
      while (producer.acceptedAt[last] === 0 && !this.#isOver) await pause(5);
      if (this.#isOver) return;
      // Not waited for here: producers and workers would be far ahead after a while.
      const call = Promise.all(batch.map((one) => this.#run.cancel(one)));
      call.catch(() => undefined);
      calls.push(call);
      batch = [];
    }
    await Promise.all(calls);
  }

  async #kill(): Promise<void> {
    const { tasks, kills, restarts, leaseMs } = this.#options;
    const { fleet } = this.#run;
    const all = kills + restarts;
    for (let blow = 1; blow <= all && !this.#isOver; blow += 1) {
      const due = (2 * tasks * blow) / (all + 1);
      while (fleet.records < due && !this.#isOver) await pause(10);
      if (this.#isOver) return;
      if (blow % Math.ceil(all / (restarts + 1)) === 0 && this.#restarts < restarts) {
        this.#restarts += 1;
        await this.#run.during(async () => {
          await this.#server.kill();
          await this.#server.restart();
        });
        continue;
      }
      const victim = fleet.running[Math.floor(Math.random() * fleet.running.length)];
      if (!victim) continue;
      if (Math.random() < STOPPED_PART) {
        this.#stops += 1;
        await victim.pause();
        setTimeout(() => victim.resume(), 1.5 * leaseMs);
      } else {
        this.#kills += 1;
        await victim.kill();
      }
    }
  }

  async #untilDone(): Promise<void> {
    let least = Infinity;
    let movedAt = performance.now();
    for (;;) {
      const left = await this.#run.left();
      if (left === 0) return;
      if (left < least) movedAt = performance.now();
      least = Math.min(least, left);
      // The account tells what is left.
      if (performance.now() - movedAt > 30_000) return;
      await pause(100);
    }
  }
}

/** 0 to 1, always the same for the same task. */
function randomOf(task: number): number {
  let bits = Math.imul(Math.floor(task * 4) + 0x9e3779b9, 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
  return ((bits ^ (bits >>> 16)) >>> 0) / 2 ** 32;
}

export function describeReport({ account, ...report }: SoakReport): string {
  const total = Object.values(account.tasks).reduce((sum, count) => sum + count, 0);
  const perSecond = Math.round(account.executions / report.runSeconds).toLocaleString('en');
  return [
    `tasks ${total.toLocaleString('en')}: ${counts(account.tasks)}; violations ${account.violations.length}`,
    `executions ${account.executions.toLocaleString('en')}, ${perSecond} a second; tasks that ran again unasked ${account.duplicates}`,
    `why tasks ran again: ${counts(account.repetitions)}`,
    `workers killed ${report.kills}, by poison tasks ${report.suicides}, stopped past their lease ${report.stops}; Redis killed ${report.restarts}`,
    `enqueues repeated after a lost reply ${report.repeatedEnqueues}; ${report.seconds.toFixed(0)} s, ${report.runSeconds.toFixed(0)} s without the account`,
  ].join('\n');
}

function counts(record: Readonly<Record<string, number>>): string {
  return Object.entries(record)
    .filter(([, count]) => count > 0)
    .map(([name, count]) => `${name} ${count.toLocaleString('en')}`)
    .join(', ');
}
