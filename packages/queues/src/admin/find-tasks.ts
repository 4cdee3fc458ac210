/** Tasks of a state that match a filter: pages of tasks are read until enough match. */
import { requireInteger, requireOptions } from '@mortise/redis';

import type { Queue } from '../queue.js';
import type { Task, TaskMap, TaskState } from '../task/task.js';
import type { TaskFilter } from './task-filter.js';
import { hasField, requireTaskFilter } from './task-filter.js';

/** Tasks of one call: up to 4 MiB. */
const STEP = 200;
/** Tasks that a page visits. */
const MOST_VISITED = 1_000;
const OPTIONS = new Set(['limit', 'cursor']);

export interface FindTasksOptions {
  /** The number of tasks on a page; up to 199 more may come. 1 to 1,000. Default 100. */
  readonly limit?: number | undefined;
  /** The cursor of the previous page. Default: the first page. */
  readonly cursor?: string | null | undefined;
}

export interface FoundTasks<Tasks extends TaskMap<Tasks> = Record<string, unknown>> {
  readonly tasks: readonly Task<Tasks>[];
  /** Continues with the next page; null after the last one. */
  readonly cursor: string | null;
  /** Whether the page ends because it has visited 1,000 tasks: more may match after `cursor`. */
  readonly isCapped: boolean;
}

/**
 * Returns a page of the tasks in a state that match the filter, in the order of `queue.list`. A call visits 1,000 tasks at
 * most, so a page may be empty before the last one. Tasks that change their state meanwhile may or may not be on a page.
 *
 * Up to five round trips for each shard of the page, read-only, O(visited tasks). Rejects as `queue.list` does, and with
 * ERR_INVALID_ARG for a filter with only one of `field` and `equals`.
 */
export async function findTasks<Tasks extends TaskMap<Tasks>>(
  queue: Queue<Tasks>,
  state: TaskState,
  filter: TaskFilter,
  options: FindTasksOptions = {},
): Promise<FoundTasks<Tasks>> {
  const { name, field, equals } = requireTaskFilter(filter);
  const { limit = 100, cursor: from = null } = requireOptions('findTasks', options, OPTIONS);
  requireInteger('limit', limit, { min: 1, max: MOST_VISITED });
  const tasks: Task<Tasks>[] = [];
  let cursor = from;
  let visited = 0;
  do {
    const page = await queue.list(state, { limit: STEP, cursor, name });
    for (const task of page.tasks)
      if (field === undefined || hasField(task.payload, field, equals!)) tasks.push(task);
    cursor = page.cursor;
    // A page that has few tasks of a name has visited more of other names.
    visited += STEP;
  } while (cursor !== null && tasks.length < limit && visited < MOST_VISITED);
  return { tasks, cursor, isCapped: cursor !== null && tasks.length < limit };
}
