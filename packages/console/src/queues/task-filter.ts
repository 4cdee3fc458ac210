/** Tasks of a state by a member of their payloads, which no index has: pages of tasks are read until enough match. */
import type { Queue, Task, TaskState } from '@mortise/queues';

type AnyTask = Task<Record<string, unknown>>;

/** Tasks of one call: up to 4 MiB. */
const STEP = 200;
/** Tasks that a page visits. */
const MOST_VISITED = 1_000;

export interface TaskFilter {
  readonly name?: string | undefined;
  /** A member of the payload; nested ones by dots. */
  readonly field?: string | undefined;
  /** Its value: a text, or the JSON of another value. */
  readonly equals?: string | undefined;
}

/** Whether the payload has the member with this value. */
function hasField(payload: unknown, field: string, equals: string): boolean {
  let value = payload;
  for (const member of field.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, member)) return false;
    value = (value as Record<string, unknown>)[member];
  }
  return value === equals || (typeof value !== 'string' && JSON.stringify(value) === equals);
}

export interface FilteredPage {
  readonly tasks: readonly AnyTask[];
  readonly cursor: string | null;
  /** The page ends because it has visited as many tasks as it may. */
  readonly isCapped: boolean;
}

/** A page with `limit` tasks, and with those of the last step; with fewer where few match. Up to five round trips for each shard. */
export async function filterTasks(
  queue: Queue,
  state: TaskState,
  { name, field, equals }: TaskFilter,
  from: { readonly limit: number; readonly cursor?: string | undefined },
): Promise<FilteredPage> {
  const tasks: AnyTask[] = [];
  let cursor: string | null = from.cursor ?? null;
  let visited = 0;
  do {
    const options = { limit: STEP, cursor, ...(name !== undefined && { name }) };
    const page = await queue.list(state, options);
    for (const task of page.tasks) {
      if (field === undefined || hasField(task.payload, field, equals!)) tasks.push(task);
    }
    cursor = page.cursor;
    // A page that has few tasks of a name has visited more of other names.
    visited += STEP;
  } while (cursor !== null && tasks.length < from.limit && visited < MOST_VISITED);
  return { tasks, cursor, isCapped: cursor !== null && tasks.length < from.limit };
}
