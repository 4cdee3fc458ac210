/**
 * Telemetry of claims: counters by queue, and wait times. The attempts run in other programs, so there are no run times and no
 * spans. Task names are not attributes, since producers may send any number of them.
 */
import type { Telemetry } from '@mortise/redis';
import { SafeTelemetry } from '@mortise/redis';
import { DEAD, FAILED, LEASE_LOST, queueAttributes, RETRIED, SUCCEEDED, WAIT } from '../telemetry.js';
import type { Completion } from '../work/completion.js';
import type { ClaimedTask } from './claimed-task.js';

const COUNTED: Readonly<Record<Completion['verdict'], readonly (typeof SUCCEEDED)[]>> = {
  S: [SUCCEEDED],
  R: [FAILED, RETRIED],
  D: [FAILED, DEAD],
  L: [RETRIED],
  E: [RETRIED],
  B: [],
};

export class ClaimTelemetry {
  readonly #telemetry: SafeTelemetry;

  constructor(telemetry: Telemetry, queue: string) {
    this.#telemetry = new SafeTelemetry(telemetry, queueAttributes(queue));
  }

  /** @param nowMs The server's time. */
  claimed(tasks: readonly ClaimedTask[], nowMs: number): void {
    for (const { attempt, enqueuedAt } of tasks) {
      if (attempt === 1) this.#telemetry.record(WAIT, Math.max(0, nowMs - enqueuedAt) / 1_000);
    }
  }

  completed({ verdict }: Completion): void {
    for (const counter of COUNTED[verdict]) this.#telemetry.count(counter, 1);
  }

  /** A task that expired, or that this version cannot read. */
  died(): void {
    this.#telemetry.count(DEAD, 1);
  }

  lost(): void {
    this.#telemetry.count(LEASE_LOST, 1);
  }
}
