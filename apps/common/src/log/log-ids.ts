/** The ids of the request that runs, for each line that it logs. */
import { AsyncLocalStorage } from 'node:async_hooks';

/** The header of a task that names the request which enqueued it. */
export const REQUEST_HEADER = 'x-request-id';

/** An id that is undefined is left out. The object lives as long as the request, and learns its tenant and its task later. */
export interface LogIds {
  readonly reqId: string;
  readonly tenant: string | undefined;
  readonly traceId: string | undefined;
  /** The last task that it enqueued. */
  task?: string;
}

const running = new AsyncLocalStorage<LogIds>();

/** Runs `act`, and all that it starts. */
export function withLogIds<Result>(ids: LogIds, act: () => Result): Result {
  return running.run(ids, act);
}

/** A new object, which pino changes; empty outside of a request. */
export function currentLogIds(): Partial<LogIds> {
  return { ...running.getStore() };
}

/** The lines of the request that runs name this task from now on. */
export function noteTask(id: string): void {
  const ids = running.getStore();
  if (ids) ids.task = id;
}

/** The headers of a task, by which the lines of its worker name the request that runs. */
export function taskHeaders(): { headers?: Record<string, string> } {
  const reqId = running.getStore()?.reqId;
  return reqId === undefined ? {} : { headers: { [REQUEST_HEADER]: reqId } };
}
