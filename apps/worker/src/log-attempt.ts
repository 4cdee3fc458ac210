import { Discard, type TaskContext } from '@mortise/queues';
import type { Logger } from 'pino';

/** The words of the log lines: `<what> <done>`, `<what> discarded`, `abandoned` or `failed`. */
interface Wording {
  readonly what: string;
  readonly done: string;
}

/**
 * Runs one attempt of a task and logs its outcome in one line, with the id of the task, the attempt and the time in ms. `act` resolves
 * with further fields of the line of success. Rejects as `act` does.
 */
export async function logAttempt(
  log: Logger,
  { id, attempt, attempts, signal }: Pick<TaskContext, 'id' | 'attempt' | 'attempts' | 'signal'>,
  { what, done }: Wording,
  act: () => Promise<object>,
): Promise<void> {
  const startedAt = performance.now();
  const line = log.child({ task: id, attempt, attempts });
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
