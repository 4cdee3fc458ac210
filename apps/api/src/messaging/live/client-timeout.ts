/**
 * When a client is given up that doesn't take what it is sent. What it takes shows late: Linux says that a connection has room
 * again once a third of what its buffer holds has gone, up to 4 MiB by default, and Node says no more. So a client may take
 * as many steps as it has to take until that shows; one that takes a step in each span of patience is never given up.
 */

/** The least of what a client takes within its patience. */
export const STEP_BYTES = 65_536;
/** More than a third of the buffer, and than what the other side may take before it says so. */
const MAX_STEPS = 32;

export class ClientTimeout {
  readonly #stepMs: number;
  readonly #onEnd: () => void;
  #timer: NodeJS.Timeout | undefined;
  #check: NodeJS.Immediate | undefined;

  constructor(stepMs: number, onEnd: () => void) {
    this.#stepMs = stepMs;
    this.#onEnd = onEnd;
  }

  /** The client is waited for. */
  get isRunning(): boolean {
    return this.#timer !== undefined || this.#check !== undefined;
  }

  /** The client has to take something, or has taken something and has to go on: at most so many bytes until that shows. */
  begin(bytes: number): void {
    this.stop();
    const steps = Math.min(Math.max(Math.ceil(bytes / STEP_BYTES), 1), MAX_STEPS);
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      // What has arrived while this process stood still is read in between.
      this.#check = setImmediate(() => {
        this.#check = undefined;
        this.#onEnd();
      });
    }, steps * this.#stepMs);
  }

  /** Nothing waits for the client. */
  stop(): void {
    clearTimeout(this.#timer);
    clearImmediate(this.#check);
    this.#timer = undefined;
    this.#check = undefined;
  }
}
