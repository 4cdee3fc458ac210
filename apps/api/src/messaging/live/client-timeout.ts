/**
 * Drops a client that doesn't read. Its reading shows late: Linux reports room in a connection only after a third of its
 * buffer, up to 4 MiB by default, has been read, and Node knows no more. So the timeout covers as many steps as the client
 * has to read until that shows. A client that reads one step per timeout is never dropped.
 */

/** The bytes that a client has to read within one timeout. */
export const STEP_BYTES = 65_536;
/** More than a third of the buffer, and more than the other side may read before it reports it. */
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

  /** Whether the timeout runs. */
  get isRunning(): boolean {
    return this.#timer !== undefined || this.#check !== undefined;
  }

  /** Starts the timeout anew. @param bytes The most that the client reads before that shows. */
  begin(bytes: number): void {
    this.stop();
    const steps = Math.min(Math.max(Math.ceil(bytes / STEP_BYTES), 1), MAX_STEPS);
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      // First read the input that arrived while this process was blocked.
      this.#check = setImmediate(() => {
        this.#check = undefined;
        this.#onEnd();
      });
    }, steps * this.#stepMs);
  }

  /** Stops the timeout: the client has read everything. */
  stop(): void {
    clearTimeout(this.#timer);
    clearImmediate(this.#check);
    this.#timer = undefined;
    this.#check = undefined;
  }
}
