import { MemoryFullError, QueueFullError, TaskConflictError } from '../errors.js';

/** Adds the ids of the stored tasks to an error of the package; other errors stay as they are. */
export function withStored(
  error: unknown,
  enqueued: readonly ({ readonly id: string; readonly isDuplicate: boolean } | undefined)[],
): unknown {
  const stored = enqueued.flatMap((one) => (one && !one.isDuplicate ? [one.id] : []));
  if (error instanceof TaskConflictError) return new TaskConflictError(error.queue, error.taskId, stored);
  if (error instanceof QueueFullError) return new QueueFullError(error.queue, error.maxTasks, stored);
  if (error instanceof MemoryFullError) return new MemoryFullError(error.queue, error.cause, stored);
  return error;
}
