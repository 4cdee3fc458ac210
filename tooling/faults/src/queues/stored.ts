/** The stored tasks at the end of a run, when nothing moves any more: every id of every state of every queue. */
import type { Queue, Task } from '@mortise/queues';
import { TASK_STATES } from '@mortise/queues';
import { taskIndex } from './task-ids.js';

const PAGE = 1_000;
const ENDED: ReadonlySet<string> = new Set(['succeeded', 'dead', 'cancelled']);

export interface StoredTasks {
  /** 0: not there; otherwise 1 + the index of its state in TASK_STATES. */
  readonly state: Uint8Array;
  /** The attempt that ran last. */
  readonly attempt: Uint16Array;
  readonly attempts: Uint16Array;
  /** The execution of each succeeded task; NaN for the others. */
  readonly result: Float64Array;
  /** Active tasks, and when their leases end, ms since the epoch. */
  readonly leases: ReadonlyMap<number, number>;
  readonly errors: ReadonlyMap<number, string>;
  /** Tasks in more than one place. */
  readonly doubled: readonly number[];
  /** Where counts and lists don't agree. */
  readonly miscounted: readonly string[];
}

export class Stored implements StoredTasks {
  readonly state: Uint8Array;
  readonly attempt: Uint16Array;
  readonly attempts: Uint16Array;
  readonly result: Float64Array;
  readonly leases = new Map<number, number>();
  readonly errors = new Map<number, string>();
  readonly doubled: number[] = [];
  readonly miscounted: string[] = [];

  private constructor(tasks: number) {
    this.state = new Uint8Array(tasks);
    this.attempt = new Uint16Array(tasks);
    this.attempts = new Uint16Array(tasks);
    this.result = new Float64Array(tasks).fill(NaN);
  }

  static async read(queues: readonly Queue[], tasks: number): Promise<Stored> {
    const stored = new Stored(tasks);
    for (const queue of queues) {
      const counts = await queue.counts();
      for (const [index, state] of TASK_STATES.entries()) {
        let listed = 0;
        let cursor: string | null = null;
        do {
          const page: Awaited<ReturnType<Queue['list']>> = await queue.list(state, { cursor, limit: PAGE });
          for (const task of page.tasks) stored.#add(task, index + 1);
          listed += page.tasks.length;
          cursor = page.cursor;
        } while (cursor !== null);
        // Tasks that fall due in between change their state.
        if (ENDED.has(state) && listed !== counts[state]) {
          stored.miscounted.push(`${queue.name}: ${counts[state]} ${state}, but ${listed} are listed`);
        }
      }
    }
    return stored;
  }

  #add(task: Task<Record<string, unknown>>, state: number): void {
    const index = taskIndex(task.id);
    if (this.state[index] !== 0) this.doubled.push(index);
    this.state[index] = state;
    this.attempt[index] = task.attempt;
    this.attempts[index] = task.attempts;
    if (task.state === 'succeeded') this.result[index] = Number(task.result);
    if (task.leaseUntil !== undefined) this.leases.set(index, task.leaseUntil);
    if (task.error !== undefined) this.errors.set(index, task.error.message);
  }
}
