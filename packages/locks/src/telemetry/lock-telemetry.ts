import { SafeTelemetry } from '@mortise/redis';
import type { LeaseEnd, Telemetry, TelemetryAttributes } from '@mortise/redis';
import { LatchTimeoutError, LockTimeoutError } from '../errors.js';
import { HOLD, KIND, LOST, OUTCOME, WAIT } from './metrics.js';

/** Labels of metrics: kinds only, since there are too many lock names. */
export type LockKind = 'mutex' | 'read' | 'write' | 'multi-lock' | 'semaphore' | 'quorum-mutex' | 'latch';

/** The metrics of one kind of lock. */
export class LockTelemetry {
  readonly #telemetry: SafeTelemetry;

  /** Undefined without a telemetry. Throws TypeError for an invalid one. */
  static of(telemetry: Telemetry | undefined, kind: LockKind): LockTelemetry | undefined {
    const safe = SafeTelemetry.of(telemetry, { [KIND]: kind });
    return safe && new LockTelemetry(safe);
  }

  private constructor(telemetry: SafeTelemetry) {
    this.#telemetry = telemetry;
  }

  /** Measures the time until `wait` ends. A result of null is a refusal. */
  async measureWait<Result>(wait: Promise<Result>): Promise<Result> {
    const startsAt = performance.now();
    const record = (outcome: string): void => this.#record(WAIT, startsAt, { [OUTCOME]: outcome });
    try {
      const result = await wait;
      record(result === null ? 'refused' : 'granted');
      return result;
    } catch (error) {
      const isTimeout = error instanceof LockTimeoutError || error instanceof LatchTimeoutError;
      record(isTimeout ? 'timeout' : 'failed');
      throw error;
    }
  }

  /** A lease has ended. @param lost Why it ended before its release, if it did. */
  held(grantedAt: number, lost: LeaseEnd | undefined): void {
    this.#record(HOLD, grantedAt);
    if (lost) this.#telemetry.count(LOST, 1, { 'mortise.locks.reason': lost });
  }

  #record(histogram: typeof WAIT, startsAt: number, more?: TelemetryAttributes): void {
    this.#telemetry.record(histogram, (performance.now() - startsAt) / 1_000, more);
  }
}

/** Measures a wait, if there is a telemetry. */
export function measured<Result>(
  telemetry: LockTelemetry | undefined,
  wait: Promise<Result>,
): Promise<Result> {
  return telemetry ? telemetry.measureWait(wait) : wait;
}
