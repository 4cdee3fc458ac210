/** One thread, seen from the worker. It runs one task at a time, and is used no more after a crash or a termination. */
import { Worker } from 'node:worker_threads';
import { Discard, RetryLater, SandboxExitedError } from '../errors.js';
import type { TaskContext } from '../work/attempt.js';
import type { ContextMethod, FromThread, ThreadData, ToThread } from './messages.js';
import type { ResolvedSandboxOptions } from './options.js';
import type { ThrownFields } from './thrown.js';
import { toError, toFields } from './thrown.js';

/** The type makes a missing method a compile error. */
const METHODS: Readonly<Record<ContextMethod, true>> = {
  renew: true,
  progress: true,
  log: true,
  children: true,
  step: true,
  cursor: true,
  setCursor: true,
  sleep: true,
  waitFor: true,
};

interface PendingStep {
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: unknown) => void;
}

interface Run {
  readonly context: TaskContext;
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: unknown) => void;
}

export class SandboxThread {
  readonly #killMs: number;
  readonly #thread: Worker;
  readonly #exited: Promise<void>;
  /** Steps that run in the thread, by their calls. */
  readonly #steps = new Map<number, PendingStep>();
  #runs = 0;
  #present: Run | undefined;
  #failure: unknown;
  #isOver = false;

  constructor(module: string, { resourceLimits, execArgv, killMs }: ResolvedSandboxOptions) {
    this.#killMs = killMs;
    const workerData: ThreadData = { module, methods: Object.keys(METHODS) as ContextMethod[] };
    // Bundlers know this form, and bundle the thread too. At the top, it would fail in a bundle without `import.meta`.
    this.#thread = new Worker(new URL('./thread-main.js', import.meta.url), {
      workerData,
      resourceLimits,
      execArgv,
      name: 'mortise sandbox',
    });
    this.#thread.on('message', (message: FromThread) => this.#receive(message));
    this.#thread.on('messageerror', () => void this.end());
    this.#thread.on('error', (error) => {
      this.#failure = error;
    });
    this.#exited = new Promise((resolve) => {
      this.#thread.on('exit', (exitCode) => {
        this.#isOver = true;
        const context = this.#present?.context;
        const error = context && new SandboxExitedError(context.queue, context.id, exitCode, this.#failure);
        this.#finishRun(({ reject }) => reject(error));
        for (const { reject } of this.#steps.values()) reject(error);
        resolve();
      });
    });
  }

  /** Whether the thread has ended or is about to: it takes no more tasks. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** Rejects with the handler's error, or with ERR_SANDBOX_EXITED when the thread ends before it answers. */
  async run(payload: unknown, context: TaskContext): Promise<unknown> {
    const { id, queue, name, attempt, attempts, headers, signal } = context;
    this.#runs += 1;
    const run = this.#runs;
    let killing: NodeJS.Timeout | undefined;
    const onAbort = (): void => {
      this.#send({ type: 'abort', run, reason: toFields(signal.reason) });
      killing = setTimeout(() => void this.end(), this.#killMs).unref();
      // The caller waits no longer.
      this.#thread.unref();
    };
    try {
      return await new Promise((resolve, reject) => {
        this.#present = { context, resolve, reject };
        this.#thread.ref();
        // Throws for a payload that cannot be cloned; `run` then rejects.
        this.#send({ type: 'run', run, payload, task: { id, queue, name, attempt, attempts, headers } });
        signal.addEventListener('abort', onAbort, { once: true });
        if (signal.aborted) onAbort();
      });
    } finally {
      clearTimeout(killing);
      signal.removeEventListener('abort', onAbort);
      this.#present = undefined;
      // An idle thread must not keep the process alive.
      this.#thread.unref();
    }
  }

  /** Terminates the thread; resolves when it is gone. */
  async end(): Promise<void> {
    this.#isOver = true;
    await this.#thread.terminate();
    await this.#exited;
  }

  #send(message: ToThread): void {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
    this.#thread.postMessage(message);
  }

  #receive(message: FromThread): void {
    switch (message.type) {
      case 'returned':
        return this.#finishRun(({ resolve }) =>
          resolve(message.json === undefined ? undefined : JSON.parse(message.json)),
        );
      case 'unkept':
        return this.#finishRun(({ resolve }) => resolve(unstorable(toError(message.error))));
      case 'threw':
        if (message.isBroken) void this.end();
        return this.#finishRun(({ reject }) => reject(toThrown(message.error)));
      case 'stepped':
        return this.#finishStep(message);
      case 'call':
        return void this.#answer(message);
    }
  }

  #finishRun(how: (run: Run) => void): void {
    const run = this.#present;
    this.#present = undefined;
    if (run) how(run);
  }

  #finishStep({ call, json, error }: Extract<FromThread, { type: 'stepped' }>): void {
    const step = this.#steps.get(call);
    this.#steps.delete(call);
    if (error) step?.reject(toThrown(error));
    else step?.resolve(json === undefined ? undefined : JSON.parse(json));
  }

  /** Runs the function of a step in the thread. */
  #step(call: number): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.#steps.set(call, { resolve, reject });
      this.#send({ type: 'step', call });
    });
  }

  async #answer({ call, method, args }: Extract<FromThread, { type: 'call' }>): Promise<void> {
    try {
      // A thread sends no call when its handler has returned.
      const { context } = this.#present!;
      const act = context[method] as (...given: readonly unknown[]) => unknown;
      const given = method === 'step' ? [args[0], () => this.#step(call)] : args;
      const value = await act.apply(context, [...given]);
      this.#send({ type: 'answer', call, value });
    } catch (error) {
      this.#send({ type: 'refusal', call, error: toFields(error) });
    }
  }
}

/** Restores Discard and RetryLater. */
function toThrown(fields: ThrownFields): Error {
  const { code, message, delayMs } = fields;
  if (code === 'ERR_DISCARDED') return toError(fields, new Discard(message));
  if (code === 'ERR_RETRY_LATER' && delayMs !== undefined) {
    return toError(fields, new RetryLater({ delayMs, reason: message }));
  }
  return toError(fields);
}

/** The worker reports a result that it cannot store, as it does for handlers in its own thread. */
function unstorable(error: Error): object {
  return {
    toJSON(): never {
      throw error;
    },
  };
}
