/** Tells the application how attempts ended: `onSucceeded` and `onFailed` of a worker. */
import type { ErrorReporter } from '@mortise/redis';
import { WorkerError } from '../errors.js';
import type { EndedAttempt, OnFailed, OnSucceeded } from '../ended-attempt.js';
import { errorLine, readError, storeError } from '../task/stored-error.js';
import { isHopeless } from './thrown.js';

export class EndListeners {
  readonly #onSucceeded: OnSucceeded | undefined;
  readonly #onFailed: OnFailed | undefined;
  readonly #reporter: ErrorReporter;

  constructor(onSucceeded: OnSucceeded | undefined, onFailed: OnFailed | undefined, reporter: ErrorReporter) {
    this.#onSucceeded = onSucceeded;
    // Without listeners, a dead task must not go unseen.
    this.#onFailed = onFailed ?? (onSucceeded ? undefined : printDead(console.error));
    this.#reporter = reporter;
  }

  succeeded(task: EndedAttempt, result: unknown): void {
    if (this.#onSucceeded) void this.#call(task, () => this.#onSucceeded!(task, result));
  }

  failed(task: EndedAttempt, error: unknown, isFinal: boolean): void {
    if (this.#onFailed) void this.#call(task, () => this.#onFailed!(task, error, { isFinal }));
  }

  async #call({ queue, id, name }: EndedAttempt, listener: () => unknown): Promise<void> {
    try {
      await listener();
    } catch (error) {
      this.#reporter.report(new WorkerError('ERR_LISTENER_FAILED', queue, id, name, error));
    }
  }
}

/** Prints a line for each dead task, except those that `onError` knows. */
export function printDead(print: (line: string) => void): OnFailed {
  return ({ queue, name, id, attempt, attempts }, error, { isFinal }) => {
    if (!isFinal || isHopeless(error, id)) return;
    const reason = errorLine(readError(storeError(error)));
    const task = `task ${JSON.stringify(id)} (${JSON.stringify(name)}) of queue ${JSON.stringify(queue)}`;
    print(`mortise worker: ${task} is dead after attempt ${attempt} of ${attempts}: ${reason}`);
  };
}
