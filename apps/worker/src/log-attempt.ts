import { REQUEST_HEADER } from '@mortise/app-common/log';
import { traceIdOf } from '@mortise/app-common/tracing';
import { Discard, type TaskContext } from '@mortise/queues';
import type { Logger } from 'pino';

/** The words of the log lines: `<what> <done>`, `<what> discarded`, `abandoned` or `failed`. */
interface Wording {
  readonly what: string;
  readonly done: string;
}

/** The tasks of the worker belong to the deployment; those of tenants are run by workers over HTTP. */
const TENANT = 'default';

/** Writes lines with the ids of a task, and with those of the request that enqueued it. */
export function taskLog(
  log: Logger,
  { id, attempt, headers }: Pick<TaskContext, 'id' | 'attempt' | 'headers'>,
): Logger {
  const [reqId, traceId] = [headers[REQUEST_HEADER], traceIdOf(headers)];
  return log.child({
    task: id,
    attempt,
    tenant: TENANT,
    ...(reqId !== undefined && { reqId }),
    ...(traceId !== undefined && { traceId }),
  });
}

/**
 * Runs one attempt of a task and logs its outcome in one line, with the id of the task, the attempt and the time in ms. `act` resolves
 * with further fields of the line of success. Rejects as `act` does.
 */
export async function logAttempt(
  log: Logger,
  task: Pick<TaskContext, 'id' | 'attempt' | 'attempts' | 'headers' | 'signal'>,
  { what, done }: Wording,
  act: () => Promise<object>,
): Promise<void> {
  const startedAt = performance.now();
  const { attempt, attempts, signal } = task;
  const line = taskLog(log, task).child({ attempts });
  try {
    const fields = await act();
    line.info({ ...fields, ms: Math.round(performance.now() - startedAt) }, `${what} ${done}`);
  } catch (error) {
    const { message, code } = error as Error & { code?: string };
    if (error instanceof Discard) line.error({ reason: message }, `${what} discarded`);
    else if (signal.aborted) line.warn({ reason: message }, `${what} abandoned`);
    else line[attempt < attempts ? 'warn' : 'error']({ reason: message, code }, `${what} failed`);
    throw error;
  }
}
