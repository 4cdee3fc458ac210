/** Calls the handlers of attempts, applies timeouts, and passes completions to the completer. */
import type { ErrorReporter } from '@mortise/redis';
import type { Attempt } from './attempt.js';
import { AttemptError, WorkerError } from '../errors.js';
import type { BatchTask, ResolvedHandler } from './handlers.js';
import type { BackoffFunction, ResolvedBackoff } from '../options.js';
import { failure, isA, success } from './outcome.js';
import type { Schemas } from '../task/schemas.js';
import type { Completion } from './completion.js';
import { GIVEN_BACK } from './completion.js';
import type { WorkerTelemetry } from './worker-telemetry.js';

interface RunnerOptions {
  /** For tasks and handlers without a backoff of their own. */
  readonly backoff: ResolvedBackoff | BackoffFunction;
  /** Of a result. */
  readonly maxPayloadBytes: number;
  readonly reporter: ErrorReporter;
  readonly schemas: Schemas | undefined;
  readonly telemetry: WorkerTelemetry | undefined;
  /** Called with the duration of a handler before its attempt ends; not for batches. */
  readonly onRan: (ms: number) => void;
  /** Called whenever an attempt has ended. */
  readonly onEnded: () => void;
}

export class Runner {
  readonly #backoff: ResolvedBackoff | BackoffFunction;
  readonly #maxPayloadBytes: number;
  readonly #reporter: ErrorReporter;
  readonly #schemas: Schemas | undefined;
  readonly #telemetry: WorkerTelemetry | undefined;
  readonly #onRan: (ms: number) => void;
  readonly #onEnded: () => void;
  readonly #running = new Set<Attempt>();

  constructor({ backoff, maxPayloadBytes, reporter, schemas, telemetry, onRan, onEnded }: RunnerOptions) {
    this.#backoff = backoff;
    this.#maxPayloadBytes = maxPayloadBytes;
    this.#reporter = reporter;
    this.#schemas = schemas;
    this.#telemetry = telemetry;
    this.#onRan = onRan;
    this.#onEnded = onEnded;
  }

  /** Number of attempts that take a slot. */
  get size(): number {
    return this.#running.size;
  }

  /** Resolves when the handler has ended; the attempt may end before that. */
  async run(attempt: Attempt, handler: ResolvedHandler | undefined): Promise<void> {
    this.#begin(attempt, handler);
    const call = this.#telemetry?.begin([attempt], handler !== undefined);
    attempt.call = call;
    const startedAt = performance.now();
    let completion: Completion;
    try {
      if (!handler) throw new WorkerError('ERR_UNKNOWN_TASK', attempt.queue, attempt.id, attempt.name);
      const payload: unknown = this.#schemas
        ? await this.#validated(this.#schemas, attempt)
        : JSON.parse(attempt.record.payload);
      const result = await (call
        ? call.run(() => handler.handle!(payload, attempt))
        : handler.handle!(payload, attempt));
      completion = success(attempt, result, this.#maxPayloadBytes, this.#reporter);
    } catch (error) {
      completion = this.#failed(attempt, handler, error);
    }
    this.#onRan(performance.now() - startedAt);
    this.#finish(attempt, completion);
  }

  /** As `run`, in one call of a batch handler. */
  async runMany(attempts: readonly Attempt[], handler: ResolvedHandler): Promise<void> {
    const tasks: BatchTask<unknown>[] = [];
    const batch: Attempt[] = [];
    const call = this.#telemetry?.begin(attempts, true);
    for (const attempt of attempts) {
      this.#begin(attempt, handler);
      attempt.call = call;
    }
    for (const attempt of attempts) {
      try {
        const payload: unknown = this.#schemas
          ? await this.#validated(this.#schemas, attempt)
          : JSON.parse(attempt.record.payload);
        tasks.push({ payload, ctx: attempt });
        batch.push(attempt);
      } catch (error) {
        this.#finish(attempt, this.#failed(attempt, handler, error));
      }
    }
    if (batch.every(({ isOver }) => isOver)) {
      for (const attempt of batch) this.#finish(attempt, GIVEN_BACK);
      return;
    }
    let outcome: (attempt: Attempt, index: number) => Completion;
    try {
      const results: unknown = await (call
        ? call.run(() => handler.handleMany!(tasks))
        : handler.handleMany!(tasks));
      if (results !== undefined && !(Array.isArray(results) && results.length === batch.length)) {
        throw new TypeError(
          `handleMany of ${JSON.stringify(handler.name)} must return nothing or ${batch.length} results`,
        );
      }
      outcome = (attempt, index) => {
        const result: unknown = results?.[index];
        return isA(Error, result)
          ? this.#failed(attempt, handler, result)
          : success(attempt, result, this.#maxPayloadBytes, this.#reporter);
      };
    } catch (error) {
      outcome = (attempt) => this.#failed(attempt, handler, error);
    }
    for (const [index, attempt] of batch.entries()) {
      // An attempt that ended earlier already has its outcome.
      this.#finish(attempt, attempt.isOver ? GIVEN_BACK : outcome(attempt, index));
    }
  }

  async #validated(schemas: Schemas, attempt: Attempt): Promise<unknown> {
    const payload = await schemas.parse(attempt.name, attempt.record.payload, attempt.id);
    // The worker may have stopped during the validation.
    if (attempt.isOver) attempt.signal.throwIfAborted();
    return payload;
  }

  #begin(attempt: Attempt, handler: ResolvedHandler | undefined): void {
    this.#running.add(attempt);
    const timeoutMs = attempt.record.extras.timeoutMs ?? handler?.timeoutMs;
    if (timeoutMs === undefined) return;
    attempt.timeout = setTimeout(() => this.#timeOut(attempt, handler, timeoutMs), timeoutMs);
  }

  #timeOut(attempt: Attempt, handler: ResolvedHandler | undefined, timeoutMs: number): void {
    if (attempt.isOver) return;
    const error = new AttemptError('ERR_TASK_TIMEOUT', attempt.queue, attempt.id, timeoutMs);
    const completion = this.#failed(attempt, handler, error);
    attempt.call?.settled(attempt, completion);
    // Set before listeners of the signal can call anything.
    attempt.isOver = true;
    this.#end(attempt);
    attempt.source.completer.add(attempt.fetched, completion);
    attempt.abandon(error);
    this.#onEnded();
  }

  #failed(attempt: Attempt, handler: ResolvedHandler | undefined, error: unknown): Completion {
    if (attempt.isOver) return GIVEN_BACK;
    attempt.call?.failed(error);
    return failure(attempt, error, handler?.backoff ?? this.#backoff, this.#reporter);
  }

  #finish(attempt: Attempt, completion: Completion): void {
    const { isOver } = attempt;
    if (!isOver) attempt.call?.settled(attempt, completion);
    attempt.isOver = true;
    this.#end(attempt);
    if (!isOver) attempt.source.completer.add(attempt.fetched, completion);
    this.#onEnded();
  }

  /** Releases the slot of the attempt. */
  #end(attempt: Attempt): void {
    attempt.source.heartbeater.drop(attempt);
    if (!this.#running.delete(attempt)) return;
    if (attempt.timeout) clearTimeout(attempt.timeout);
    attempt.onEnded?.();
  }

  /** Ends an attempt, running or not; other workers can have the task at once. */
  giveBack(attempt: Attempt): void {
    const { source, fetched, isOver } = attempt;
    if (!isOver) attempt.abandon(new AttemptError('ERR_WORKER_STOPPED', attempt.queue, attempt.id));
    this.#end(attempt);
    if (!isOver) source.completer.add(fetched, GIVEN_BACK);
  }

  giveBackAll(): void {
    for (const attempt of this.#running) this.giveBack(attempt);
  }
}
