/**
 * Tasks for whose names this worker has no handler. During a rolling deploy other workers have it, so the task goes back,
 * uncounted, and any worker may fetch it after a delay. When no worker has had a handler for `unknownAfterMs`, it dies.
 *
 * The delay is a tenth of the time since the first worker had no handler: at first 0.1 s, so that a task soon meets one new
 * worker among twenty old ones, and 15 s at most. Redis keeps that time in the task's entry of `attempts`, so no worker has to
 * remember it. The call that hands a task back wakes the worker that has been idle for longest, which keeps the time then: an
 * idle worker that kept it itself would fetch the task again, and no other worker ever would.
 *
 * Rejected: names as an argument of the fetch script, which would have to read the name of every record.
 */
import type { ErrorReporter } from '@mortise/redis';
import { WorkerError } from '../errors.js';
import type { Attempt } from './attempt.js';
import type { Completion } from './completion.js';
import { handedBack } from './completion.js';
import { ReturnPace } from './return-pace.js';

const MIN_DELAY_MS = 100;
const MAX_DELAY_MS = 15_000;
const SHARE_OF_AGE = 0.1;
/** A missing handler is reported again after this time. */
const REPEAT_MS = 60_000;
const MAX_REPORTED = 100;

export class UnknownTasks {
  readonly #unknownAfterMs: number;
  readonly #reporter: ErrorReporter;
  readonly #pace = new ReturnPace();
  /** When each name was reported. */
  readonly #reportedAt = new Map<string, number>();

  constructor(unknownAfterMs: number, reporter: ErrorReporter) {
    this.#unknownAfterMs = unknownAfterMs;
    this.#reporter = reporter;
  }

  /** How the task goes back. Undefined: it dies. `nowMs`: the server's time. */
  handBack(attempt: Attempt, nowMs: number): Completion | undefined {
    const { name, queue, id, source, fetched } = attempt;
    const { unknownMs = 0 } = fetched;
    const leftMs = this.#unknownAfterMs - unknownMs;
    // A live worker has a handler, but no free slot so far: as if the task were ready.
    if (leftMs <= 0 && !source.names.has(name)) return undefined;
    const error = new WorkerError('ERR_HANDLER_MISSING', queue, id, name);
    this.#report(error);
    const delayMs = Math.min(MAX_DELAY_MS, Math.max(MIN_DELAY_MS, SHARE_OF_AGE * unknownMs));
    // It dies or expires on time.
    const endsInMs = Math.min(leftMs > 0 ? leftMs : Infinity, attempt.expiresAt - performance.now());
    return handedBack(nowMs - unknownMs, Math.min(delayMs + this.#pace.next(), Math.max(1, endsInMs)), error);
  }

  #report(error: WorkerError): void {
    const now = performance.now();
    if (now - (this.#reportedAt.get(error.taskName) ?? -Infinity) < REPEAT_MS) return;
    if (this.#reportedAt.size >= MAX_REPORTED) this.#reportedAt.clear();
    this.#reportedAt.set(error.taskName, now);
    this.#reporter.report(error);
  }
}
