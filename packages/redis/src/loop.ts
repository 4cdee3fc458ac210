/**
 * The shape of everything that runs in the background: `start`, `stop`, one step after the other, a sleep that can
 * be cut short, and a backoff when a step throws. A loop never throws into the void and never spins.
 */
import { requireDuration } from './require.js';

export interface LoopOptions {
  /** Hears of every step that threw. Default: one line on stderr. */
  readonly onError?: (error: unknown) => void;
  /** The first pause after a step that threw; it doubles up to `maxBackoffMs`, with full jitter. Default 100 ms. */
  readonly minBackoffMs?: number;
  /** Default 5,000 ms. */
  readonly maxBackoffMs?: number;
}

/**
 * One step. The signal is aborted by `stop`. Returns the pause until the next step in ms: 0 or less for none, Infinity until
 * `wake`. It must not await `stop`, which waits for the step.
 */
export type LoopStep = (signal: AbortSignal) => Promise<number>;

export const LOOP_DEFAULTS = { minBackoffMs: 100, maxBackoffMs: 5_000 };

/** The longest pause that a timer of Node keeps; longer ones end early and are taken up again. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** A background loop that its owner starts and stops. */
export class Loop {
  readonly #name: string;
  readonly #step: LoopStep;
  readonly #onError: (error: unknown) => void;
  readonly #minBackoffMs: number;
  readonly #maxBackoffMs: number;
  #controller: AbortController | undefined;
  #running: Promise<void> = Promise.resolve();
  #wakeSleep: (() => void) | undefined;
  #isWakePending = false;

  /** @param name Stands in what is printed when there is no `onError`, and in the reason of the signal. */
  constructor(name: string, step: LoopStep, options: LoopOptions = {}) {
    this.#name = name;
    this.#step = step;
    this.#onError = options.onError ?? ((error) => console.error(`${name}:`, error));
    this.#minBackoffMs = requireDuration('minBackoffMs', options.minBackoffMs ?? LOOP_DEFAULTS.minBackoffMs, {
      min: 1,
      max: 60_000,
    });
    this.#maxBackoffMs = requireDuration('maxBackoffMs', options.maxBackoffMs ?? LOOP_DEFAULTS.maxBackoffMs, {
      min: this.#minBackoffMs,
      max: 3_600_000,
    });
  }

  /** From `start` to `stop`; a last step may still be ending after that. */
  get isRunning(): boolean {
    return this.#controller !== undefined;
  }

  /**
   * Begins with a step at once, or when the last step before a `stop` has ended. Does nothing while the loop runs; a
   * stopped loop may be started again.
   */
  start(): void {
    if (this.#controller) return;
    const controller = new AbortController();
    this.#controller = controller;
    this.#running = this.#running.then(() => this.#run(controller.signal));
  }

  /** Ends the present pause, or leaves out the next one when a step is running. The pause after an error stays. */
  wake(): void {
    this.#isWakePending = true;
    this.#wakeSleep?.();
  }

  /** Aborts the signal of the running step, and resolves when that step has ended. Idempotent, legal before `start`. */
  async stop(): Promise<void> {
    this.#controller?.abort(new Error(`${this.#name} is stopping`));
    this.#controller = undefined;
    this.#wakeSleep?.();
    await this.#running;
  }

  async #run(signal: AbortSignal): Promise<void> {
    let failures = 0;
    while (!signal.aborted) {
      this.#isWakePending = false;
      let pauseMs: number;
      try {
        pauseMs = await this.#step(signal);
        // A pause that somebody forgot to return is undefined, whatever the type says.
        if (!(pauseMs >= -Infinity))
          throw new TypeError(`a step must return its pause in ms, got ${pauseMs}`);
        failures = 0;
      } catch (error) {
        const isAbort =
          signal.aborted && (error === signal.reason || (error as Error)?.name === 'AbortError');
        if (!isAbort) this.#report(error);
        if (signal.aborted) return;
        failures += 1;
        pauseMs = this.#backoffMs(failures);
        // A wake-up must not turn a failing loop into a spinning one.
        this.#isWakePending = false;
      }
      if (!signal.aborted && !this.#isWakePending && pauseMs > 0) await this.#sleep(pauseMs, failures > 0);
    }
  }

  #report(error: unknown): void {
    try {
      this.#onError(error);
    } catch (thrown) {
      console.error(`${this.#name}: onError threw`, thrown);
    }
  }

  #backoffMs(failures: number): number {
    const ceiling = Math.min(this.#maxBackoffMs, this.#minBackoffMs * 2 ** Math.min(failures - 1, 30));
    return Math.max(1, Math.ceil(Math.random() * ceiling));
  }

  #sleep(ms: number, isBackoff: boolean): Promise<void> {
    return new Promise((resolve) => {
      const end = (): void => {
        clearTimeout(timer);
        this.#wakeSleep = undefined;
        resolve();
      };
      const timer = setTimeout(end, Math.min(ms, MAX_TIMER_MS));
      this.#wakeSleep = () => {
        if (!isBackoff || !this.#controller) end();
      };
    });
  }
}
