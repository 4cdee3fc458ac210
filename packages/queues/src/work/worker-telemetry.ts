/** Telemetry of a worker: counters, wait and run times, and a span for each call of a handler. */
import type { SafeSpan, SpanEnd, Telemetry, TraceContext } from '@mortise/redis';
import { LeaseLostError, SafeTelemetry } from '@mortise/redis';
import type { TaskLeaseLostError } from '../errors.js';
import type { Completion } from './completion.js';
import { metricAttributes, queueAttributes, spanAttributes } from '../telemetry.js';
import { DEAD, FAILED, LEASE_LOST, RETRIED, RUN, SUCCEEDED, WAIT } from '../telemetry.js';

/** The fields of an attempt that telemetry needs. */
export interface Observed {
  readonly id: string;
  readonly queue: string;
  readonly name: string;
  readonly attempt: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly record: { readonly enqueuedAt: number };
  /** The shard, whose replies contain the server's time. */
  readonly source: object;
  /** Until its end was reported. */
  call: Call | undefined;
}

type Outcome = 'succeeded' | 'failed' | 'dead' | 'later' | 'returned' | 'cancelled' | 'lost';

const OUTCOMES: Readonly<Record<Completion['verdict'], Outcome>> = {
  S: 'succeeded',
  R: 'failed',
  D: 'dead',
  L: 'later',
  E: 'later',
  B: 'returned',
};

const COUNTED: Readonly<Record<Outcome, readonly (typeof SUCCEEDED)[]>> = {
  succeeded: [SUCCEEDED],
  failed: [FAILED, RETRIED],
  dead: [FAILED, DEAD],
  later: [RETRIED],
  returned: [],
  // Counted by the process that cancels, since most such tasks have not started.
  cancelled: [],
  // Counted where it is reported, since the server may also refuse a completion.
  lost: [],
};

/** Producers may send any number of names without a handler. */
const UNKNOWN = '_unknown';

export class WorkerTelemetry {
  readonly #telemetry: SafeTelemetry;
  /** The time of each server, in ms, when `performance.now()` was 0. */
  readonly #origins = new WeakMap<object, number>();

  constructor(telemetry: Telemetry) {
    this.#telemetry = new SafeTelemetry(telemetry);
  }

  /** `onError` that also counts the lost leases among the errors. */
  counting(onError: (error: unknown) => unknown): (error: unknown) => unknown {
    return (error) => {
      if (error instanceof LeaseLostError) {
        this.#telemetry.count(LEASE_LOST, 1, queueAttributes((error as TaskLeaseLostError).queue));
      }
      return onError(error);
    };
  }

  /** Learns the server's time from a reply; wait times are measured by it. */
  noteTime(source: object, nowMs: number): void {
    this.#origins.set(source, nowMs - performance.now());
  }

  /** A task that expired before its start. */
  expired({ queue, name }: Observed, isKnown: boolean): void {
    this.#telemetry.count(DEAD, 1, metricAttributes(queue, isKnown ? name : UNKNOWN));
  }

  /**
   * A call of a handler begins.
   *
   * @param isKnown Whether there is a handler of this name.
   */
  begin(attempts: readonly Observed[], isKnown: boolean): Call {
    return new Call(this.#telemetry, attempts, isKnown, this.#origins);
  }
}

export class Call {
  readonly #telemetry: SafeTelemetry;
  readonly #name: string;
  readonly #startedAt = performance.now();
  readonly #span: SafeSpan | undefined;
  #left: number;
  #error: unknown;

  constructor(
    telemetry: SafeTelemetry,
    attempts: readonly Observed[],
    isKnown: boolean,
    origins: WeakMap<object, number>,
  ) {
    const [first] = attempts as [Observed];
    this.#telemetry = telemetry;
    this.#name = isKnown ? first.name : UNKNOWN;
    this.#left = attempts.length;
    for (const { queue, attempt, record, source } of attempts) {
      const origin = origins.get(source);
      if (attempt > 1 || origin === undefined) continue;
      const waitedMs = origin + this.#startedAt - record.enqueuedAt;
      telemetry.record(WAIT, Math.max(0, waitedMs) / 1_000, metricAttributes(queue, this.#name));
    }
    this.#span = telemetry.span(() => ({
      name: `process ${first.queue}`,
      kind: 'consumer',
      attributes: { ...spanAttributes('process', first.queue), ...this.#attributesOf(attempts) },
      ...this.#origin(attempts),
    }));
  }

  /** Runs a function inside the context of the span. */
  run<Result>(act: () => Result): Result {
    return this.#span ? this.#span.run(act) : act();
  }

  /** The error is kept for the span, since the completion has only its text. */
  failed(error: unknown): void {
    this.#error = error;
  }

  completed(attempt: Observed, { verdict }: Completion): void {
    this.#end(attempt, OUTCOMES[verdict]);
  }

  abandoned(attempt: Observed, reason: Error): void {
    const { code } = reason as { code?: string };
    if (code === 'ERR_TASK_CANCELLED') this.#end(attempt, 'cancelled');
    else if (code === 'ERR_LEASE_LOST') this.#end(attempt, 'lost', reason);
    else this.#end(attempt, 'returned');
  }

  #end(attempt: Observed, outcome: Outcome, error?: Error): void {
    // Only the first end counts.
    attempt.call = undefined;
    const attributes = metricAttributes(attempt.queue, this.#name);
    for (const counter of COUNTED[outcome]) this.#telemetry.count(counter, 1, attributes);
    const ranS = (performance.now() - this.#startedAt) / 1_000;
    this.#telemetry.record(RUN, ranS, { ...attributes, 'mortise.outcome': outcome });
    this.#left -= 1;
    if (this.#left > 0 || !this.#span) return;
    const failure = outcome === 'failed' || outcome === 'dead' ? this.#error : error;
    const how: SpanEnd = { attributes: { 'mortise.outcome': outcome } };
    this.#span.end(failure === undefined ? how : { ...how, error: failure });
  }

  #attributesOf(attempts: readonly Observed[]): Readonly<Record<string, string | number>> {
    const task = { 'mortise.task.name': this.#name };
    const [first] = attempts as [Observed];
    return attempts.length === 1
      ? { ...task, 'messaging.message.id': first.id, 'mortise.task.attempt': first.attempt }
      : { ...task, 'messaging.batch.message_count': attempts.length };
  }

  /** A span that continues a trace links to the producer as well, as those of later attempts do. */
  #origin(attempts: readonly Observed[]): { parent?: TraceContext; links: TraceContext[] } {
    const [first] = attempts as [Observed];
    const traces = attempts.map(({ headers }) => traceOf(headers)).filter((trace) => trace !== undefined);
    const isContinued =
      this.#telemetry.firstAttempt === 'parent' && attempts.length === 1 && first.attempt === 1 && traces[0];
    return isContinued ? { parent: isContinued, links: traces } : { links: traces };
  }
}

function traceOf({ traceparent, tracestate }: Readonly<Record<string, string>>): TraceContext | undefined {
  return traceparent === undefined ? undefined : { traceparent, tracestate };
}
