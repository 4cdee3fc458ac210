import type { MortiseClient } from './client.js';
import { pause, retryMsOf } from './pause.js';
import { ProblemError } from './problem-error.js';
import { topicOf } from './topics.js';

/** A task as the API shows it. Finished tasks are kept for a while only. */
export interface TaskView {
  readonly id: string;
  readonly name: string;
  readonly queue: string;
  readonly state: string;
  /** The value that the handler reported last. */
  readonly progress?: unknown;
  readonly result?: unknown;
  readonly error?: { readonly name: string; readonly message: string } | undefined;
  readonly [member: string]: unknown;
}

/** The receivers of a watched task. */
export interface TaskListener {
  /** Called with the task now, and after each change. */
  readonly task: (task: TaskView) => void;
  /** Called if there is no such task, or it was removed. */
  readonly gone?: (() => void) | undefined;
  /** Called if the task cannot be read. Unless the API refuses for good, the task is read again after a pause. */
  readonly error?: ((error: unknown) => void) | undefined;
}

/**
 * Watches a task of a queue until the returned function is called: its state, its progress and its result. Reads the task at
 * the beginning, after a gap, and after each event. An event with small progress has the value itself, and causes no read. All
 * watched tasks of a queue share its topic. The credential needs `queues:read`.
 */
export function watchTask(
  client: MortiseClient,
  queue: string,
  id: string,
  listener: TaskListener,
): () => void {
  const path = `queues/${encodeURIComponent(queue)}/tasks/${encodeURIComponent(id)}`;
  let shown: TaskView | undefined;
  let isReading = false;
  let isDue = false;
  const over = new AbortController();

  const read = async (): Promise<void> => {
    isDue = true;
    // One read at a time; an event during it makes it due again.
    if (isReading) return;
    isReading = true;
    for (let failures = 0; isDue && !over.signal.aborted;) {
      isDue = false;
      try {
        const task = (await client.request('GET', path)) as TaskView;
        failures = 0;
        if (over.signal.aborted || isDue) continue;
        shown = task;
        listener.task(task);
      } catch (error) {
        if (over.signal.aborted) return;
        if (error instanceof ProblemError && error.status === 404) listener.gone?.();
        else listener.error?.(error);
        if (error instanceof ProblemError && !error.isTransient) continue;
        await pause(retryMsOf(failures), over.signal);
        failures += 1;
        isDue = true;
      }
    }
    isReading = false;
  };

  const stop = client.follow(topicOf('queue', queue), {
    gap: () => void read(),
    event: ({ type, id: of, progress }) => {
      if (of !== id) return;
      if (type === 'progress' && progress !== undefined && shown && !isReading) {
        shown = { ...shown, progress };
        listener.task(shown);
      } else void read();
    },
  });
  return () => {
    over.abort();
    stop();
  };
}
