/**
 * Background work: `start`, `stop`, one step after another, a pause that can be cut short, and a backoff when a step
 * throws. A failing loop reports its errors and never spins.
 */
import { ArgumentTypeError } from './argument-error.js';
import type { Backoff, ResolvedBackoff } from './backoff.js';
import { backoffDelayMs, resolveBackoff } from './backoff.js';
import type { OnError } from './error-reporter.js';
import { ErrorReporter } from './error-reporter.js';
import { requireOptions } from './require.js';
import { WakeUp } from './wake-up.js';

export interface LoopOptions {
  /** Called with every error of a step. Default: one line on stderr. */
  readonly onError?: OnError | undefined;
  /** The pause after a step that threw. Default: exponential from 100 to 5,000 ms, with full jitter. */
  readonly backoff?: Backoff | undefined;
}

/**
 * One step of a loop. `stop` aborts the signal. The result is the pause before the next step, in ms: 0 or less for no pause,
 * Infinity for a pause until `wake`. A step must not await `stop`, which waits for the step.
 */
export type LoopStep = (signal: AbortSignal) => Promise<number>;

export const LOOP_DEFAULTS = {
  backoff: { type: 'exponential', delayMs: 100, maxDelayMs: 5_000, jitter: 1 },
} as const;
const KNOWN: ReadonlySet<string> = new Set<keyof LoopOptions>(['onError', 'backoff']);

/** A background loop that its owner starts and stops. */
export class Loop {
  readonly #name: string;
  readonly #step: LoopStep;
  readonly #reporter: ErrorReporter;
  readonly #backoff: ResolvedBackoff;
  readonly #wakeUp = new WakeUp();
  #controller: AbortController | undefined;
  #running: Promise<void> = Promise.resolve();

  /** @param name Appears in lines on stderr and in the reason of the signal. */
  constructor(name: string, step: LoopStep, options: LoopOptions = {}) {
    this.#name = name;
    this.#step = step;
    const { onError, backoff } = requireOptions('Loop', options, KNOWN);
    this.#reporter = new ErrorReporter(name, onError);
    this.#backoff = resolveBackoff(backoff, LOOP_DEFAULTS.backoff);
  }

  /** True from `start` to `stop`. The last step may end later. */
  get isRunning(): boolean {
    return this.#controller !== undefined;
  }

  /**
   * Runs the first step at once, or after the last step of the previous run. Does nothing while the loop runs. A stopped loop
   * may be started again.
   */
  start(): void {
    if (this.#controller) return;
    const controller = new AbortController();
    this.#controller = controller;
    this.#running = this.#running.then(() => this.#run(controller.signal));
  }

  /** Ends the present pause, or skips the next one during a step. A pause after an error is kept. */
  wake(): void {
    this.#wakeUp.wake();
  }

  /** Aborts the signal of the running step, and resolves when that step has ended. Idempotent, legal before `start`. */
  async stop(): Promise<void> {
    this.#controller?.abort(new Error(`${this.#name} is stopping`));
    this.#controller = undefined;
    await this.#running;
  }

  /** Does the same as `stop`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  async #run(signal: AbortSignal): Promise<void> {
    let failures = 0;
    while (!signal.aborted) {
      let wakeUp = this.#wakeUp;
      wakeUp.reset();
      let pauseMs: number;
      try {
        pauseMs = await this.#step(signal);
        // Untyped steps may return undefined.
        if (!(pauseMs >= -Infinity))
          throw new ArgumentTypeError(`a step must return its pause in ms, got ${pauseMs}`);
        failures = 0;
      } catch (error) {
        const isAbort =
          signal.aborted && (error === signal.reason || (error as Error)?.name === 'AbortError');
        if (!isAbort) this.#reporter.report(error);
        if (signal.aborted) return;
        failures += 1;
        pauseMs = Math.max(1, backoffDelayMs(this.#backoff, failures));
        // `wake` must not turn a failing loop into a spinning one.
        wakeUp = new WakeUp();
      }
      // A running loop keeps the process alive, which a wait without a timer doesn't.
      await wakeUp.wait(Math.min(pauseMs, Number.MAX_VALUE), signal).catch(() => undefined);
    }
  }
}
