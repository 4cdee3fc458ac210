/** Enqueues the tasks of a run under ids of its own, again and again until each is accepted. */
import { setTimeout as pause } from 'node:timers/promises';
import type { NewTask, Queue } from '@mortise/queues';
import { nowUs } from '../locks/clock.js';
import { taskId } from './task-ids.js';

export type PlannedTask = NewTask<Record<string, unknown>>;

export interface ProducerOptions {
  readonly tasks: number;
  readonly queueOf: (task: number) => Queue;
  readonly plan: (task: number) => PlannedTask;
  /** Tasks in one call. */
  readonly chunk?: number;
  /** Ms between two calls. */
  readonly pauseMs?: number;
  /** After each call, before it counts as accepted; false: once more. */
  readonly confirm?: () => Promise<boolean>;
}

const AFTER_ERROR_MS = 20;

export class Producer {
  /** When each was accepted, µs; 0 before that. */
  readonly acceptedAt: Float64Array;
  accepted = 0;
  /** Calls that failed. */
  failures = 0;
  /** Tasks that an earlier call had stored, whose reply was lost. */
  repeated = 0;
  readonly #options: ProducerOptions;
  #isStopped = false;
  #isAbandoned = false;

  constructor(options: ProducerOptions) {
    this.#options = options;
    this.acceptedAt = new Float64Array(options.tasks);
  }

  /** Ends after the present call. */
  stop(): void {
    this.#isStopped = true;
  }

  /** Ends at once: the present call is not tried again. */
  abandon(): void {
    this.#isStopped = true;
    this.#isAbandoned = true;
  }

  /** One call after the other, so that tasks of a queue are stored in the order of their numbers. */
  async run(from = 0, to = this.#options.tasks): Promise<void> {
    const { chunk = 500, pauseMs = 0 } = this.#options;
    for (let task = from; task < to && !this.#isStopped; task += chunk) {
      await this.#store(task, Math.min(to, task + chunk));
      if (pauseMs > 0) await pause(pauseMs);
    }
  }

  async #store(from: number, to: number): Promise<void> {
    const { queueOf, plan, confirm } = this.#options;
    const byQueue = new Map<Queue, PlannedTask[]>();
    for (let task = from; task < to; task += 1) {
      const planned = plan(task);
      const own = byQueue.get(queueOf(task)) ?? [];
      own.push({ ...planned, options: { ...planned.options, id: taskId(task) } });
      byQueue.set(queueOf(task), own);
    }
    let isConfirmed = false;
    while (!isConfirmed) {
      await Promise.all([...byQueue].map(([queue, tasks]) => this.#enqueue(queue, tasks)));
      isConfirmed = (await confirm?.()) ?? true;
    }
    this.acceptedAt.fill(nowUs(), from, to);
    this.accepted += to - from;
  }

  async #enqueue(queue: Queue, tasks: readonly PlannedTask[]): Promise<void> {
    for (;;) {
      try {
        const stored = await queue.enqueueMany(tasks);
        for (const { isDuplicate } of stored) if (isDuplicate) this.repeated += 1;
        return;
      } catch (error) {
        if (this.#isAbandoned) throw error;
        this.failures += 1;
        await pause(AFTER_ERROR_MS);
      }
    }
  }
}
