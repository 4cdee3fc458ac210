/** One thread, as the worker sees it: runs one task at a time, and ends for good when it crashes or does not obey. */
import { Worker } from 'node:worker_threads';
import { Discard, RetryLater, SandboxExitedError } from '../errors.js';
import type { TaskContext } from '../work/attempt.js';
import type { ContextMethod, FromThread, ThreadData, ToThread } from './messages.js';
import type { ResolvedSandboxOptions } from './options.js';
import type { ThrownFields } from './thrown.js';
import { toError, toFields } from './thrown.js';

/** Complete, or it doesn't compile. */
const METHODS: Readonly<Record<ContextMethod, true>> = {
  renew: true,
  progress: true,
  log: true,
  children: true,
};
const MAIN = new URL('./thread-main.js', import.meta.url);

interface Run {
  readonly context: TaskContext;
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: unknown) => void;
}

export class SandboxThread {
  readonly #killMs: number;
  readonly #thread: Worker;
  readonly #exited: Promise<void>;
  #runs = 0;
  #present: Run | undefined;
  #failure: unknown;
  #isOver = false;

  constructor(module: string, { resourceLimits, execArgv, killMs }: ResolvedSandboxOptions) {
    this.#killMs = killMs;
    const workerData: ThreadData = { module, methods: Object.keys(METHODS) as ContextMethod[] };
    this.#thread = new Worker(MAIN, { workerData, resourceLimits, execArgv, name: 'mortise sandbox' });
    this.#thread.on('message', (message: FromThread) => this.#hear(message));
    this.#thread.on('messageerror', () => void this.end());
    this.#thread.on('error', (error) => {
      this.#failure = error;
    });
    this.#exited = new Promise((resolve) => {
      this.#thread.on('exit', (exitCode) => {
        this.#isOver = true;
        const context = this.#present?.context;
        const error = context && new SandboxExitedError(context.queue, context.id, exitCode, this.#failure);
        this.#settle(({ reject }) => reject(error));
        resolve();
      });
    });
  }

  /** It has ended or will: it takes no more tasks. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** Rejects with what the handler throws, and with ERR_SANDBOX_EXITED when the thread ends instead of answering. */
  async run(payload: unknown, context: TaskContext): Promise<unknown> {
    const { id, queue, name, attempt, attempts, headers, signal } = context;
    this.#runs += 1;
    const run = this.#runs;
    let killing: NodeJS.Timeout | undefined;
    const onAbort = (): void => {
      this.#tell({ type: 'abort', run, reason: toFields(signal.reason) });
      killing = setTimeout(() => void this.end(), this.#killMs).unref();
      // Nobody waits for it any more.
      this.#thread.unref();
    };
    try {
      return await new Promise((resolve, reject) => {
        this.#present = { context, resolve, reject };
        this.#thread.ref();
        // Throws for a payload that cannot be cloned, which rejects.
        this.#tell({ type: 'run', run, payload, task: { id, queue, name, attempt, attempts, headers } });
        signal.addEventListener('abort', onAbort, { once: true });
        if (signal.aborted) onAbort();
      });
    } finally {
      clearTimeout(killing);
      signal.removeEventListener('abort', onAbort);
      this.#present = undefined;
      // A thread that waits for work does not keep the process.
      this.#thread.unref();
    }
  }

  /** Stops the thread wherever it is; resolves when it is gone. */
  async end(): Promise<void> {
    this.#isOver = true;
    await this.#thread.terminate();
    await this.#exited;
  }

  #tell(message: ToThread): void {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
    this.#thread.postMessage(message);
  }

  #hear(message: FromThread): void {
    switch (message.type) {
      case 'returned':
        return this.#settle(({ resolve }) =>
          resolve(message.json === undefined ? undefined : JSON.parse(message.json)),
        );
      case 'unkept':
        return this.#settle(({ resolve }) => resolve(unkept(toError(message.error))));
      case 'threw':
        if (message.isBroken) void this.end();
        return this.#settle(({ reject }) => reject(toThrown(message.error)));
      case 'call':
        return void this.#answer(message);
    }
  }

  #settle(how: (run: Run) => void): void {
    const run = this.#present;
    this.#present = undefined;
    if (run) how(run);
  }

  async #answer({ run, call, method, args }: Extract<FromThread, { type: 'call' }>): Promise<void> {
    try {
      const context = this.#runs === run ? this.#present?.context : undefined;
      if (!context) throw new TypeError(`${method} was called when the handler had ended`);
      const act = context[method] as (...given: readonly unknown[]) => unknown;
      const value = await act.apply(context, [...args]);
      this.#tell({ type: 'answer', call, value });
    } catch (error) {
      this.#tell({ type: 'refusal', call, error: toFields(error) });
    }
  }
}

/** Discard and RetryLater are again what they were. */
function toThrown(fields: ThrownFields): Error {
  const { code, message, delayMs } = fields;
  if (code === 'ERR_DISCARDED') return toError(fields, new Discard(message));
  if (code === 'ERR_RETRY_LATER' && delayMs !== undefined) {
    return toError(fields, new RetryLater({ delayMs, reason: message }));
  }
  return toError(fields);
}

/** The worker reports that it cannot keep it, as it does with what a handler in its own thread returns. */
function unkept(error: Error): object {
  return {
    toJSON(): never {
      throw error;
    },
  };
}
