/** One bulk operation while it runs. */
import type { Queue } from '../queue.js';
import type { Task } from '../task/task.js';
import type { BulkAction, BulkOperation } from './bulk-request.js';
import type { FoundTasks } from './find-tasks.js';
import { findTasks } from './find-tasks.js';

/** Tasks of a page. */
const STEP = 200;
/** Tasks that are changed at the same time. */
const AT_ONCE = 20;

type Act = (queue: Queue, id: string, operation: BulkOperation) => Promise<boolean>;

const ACTIONS: Readonly<Record<BulkAction, Act>> = {
  retry: (queue, id) => queue.retry(id),
  promote: (queue, id) => queue.promote(id),
  cancel: (queue, id) => queue.cancel(id, { reason: 'a bulk operation' }),
  remove: (queue, id) => queue.remove(id),
  reschedule: (queue, id, operation) => {
    const runAt = dueAt(operation);
    // An instant that has passed is now, however long the operation takes. A task that is due stays where it is.
    return runAt > Date.now() ? queue.reschedule(id, { runAt }) : queue.promote(id);
  },
  'set-priority': (queue, id, { priority }) => queue.setPriority(id, priority!),
};

/** The same for all of its tasks. */
function dueAt({ startedAt, runAt, delayMs = 0 }: BulkOperation): number {
  return runAt ?? startedAt + Math.ceil(delayMs);
}

/** A moved task may be listed again, at its new place. */
function isDone(
  task: Pick<Task<Record<string, unknown>>, 'runAt' | 'priority'>,
  operation: BulkOperation,
): boolean {
  if (operation.action === 'reschedule') return task.runAt === dueAt(operation);
  return operation.action === 'set-priority' && task.priority === operation.priority;
}

export class BulkRun {
  readonly #queue: Queue;
  #operation: BulkOperation;

  constructor(queue: Queue, operation: BulkOperation) {
    this.#queue = queue;
    this.#operation = operation;
  }

  /** How far it is. */
  get operation(): BulkOperation {
    return this.#operation;
  }

  /** Resolves at its end, and rejects with the first error of a call. */
  async toEnd(signal: AbortSignal): Promise<void> {
    let status: BulkOperation['status'] = 'failed';
    try {
      status = (await this.#act(signal)) ? 'completed' : 'interrupted';
    } finally {
      this.#operation = { ...this.#operation, status };
    }
  }

  /** Resolves to whether it has met all tasks, or as many as it may. */
  async #act(signal: AbortSignal): Promise<boolean> {
    const { state, limit } = this.#operation;
    const { name, field, equals } = this.#operation;
    let cursor: string | null = null;
    do {
      const page: FoundTasks = await findTasks(
        this.#queue,
        state,
        { name, field, equals },
        { limit: STEP, cursor },
      );
      const ids = page.tasks.filter((task) => !isDone(task, this.#operation)).map(({ id }) => id);
      for (let at = 0; at < ids.length; at += AT_ONCE) {
        if (signal.aborted) return false;
        await this.#change(ids.slice(at, at + AT_ONCE));
      }
      cursor = page.cursor;
    } while (cursor !== null && this.#operation.changed < limit && !signal.aborted);
    return !signal.aborted;
  }

  async #change(ids: readonly string[]): Promise<void> {
    const { action } = this.#operation;
    const done = await Promise.all(ids.map((id) => ACTIONS[action](this.#queue, id, this.#operation)));
    const { changed, skipped } = this.#operation;
    const now = done.filter(Boolean).length;
    this.#operation = {
      ...this.#operation,
      changed: changed + now,
      skipped: skipped + done.length - now,
    };
  }
}
