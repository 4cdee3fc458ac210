/** Renewals, progress and log lines of claimed tasks. */
import { TaskCancelledError, taskLeaseLost } from '../errors.js';
import type { Shard } from '../shard/shard.js';
import { decodeTaskId } from '../task/task-id.js';
import type { AttemptToken } from '../work/completer.js';
import type { LeaseAnswer, Report } from '../work/leases.js';
import { Leases } from '../work/leases.js';

/** The heartbeats of one shard. All calls reject with ERR_LEASE_LOST or ERR_TASK_CANCELLED. */
export class ClaimHeartbeats {
  readonly #shard: Shard;
  readonly #leases: Leases;
  /** The last report that waits for optional features to be enabled. */
  #earlier: Promise<unknown> = Promise.resolve();
  #waiting = 0;

  constructor(shard: Shard) {
    this.#shard = shard;
    this.#leases = new Leases(shard);
  }

  async renew(held: AttemptToken, leaseMs: number): Promise<void> {
    const { answer } = await this.#leases.renew(held, leaseMs);
    requireHeld(this.#shard, held, answer);
  }

  /**
   * Reports are stored in the order of the calls.
   *
   * @param check Rejects for an expired lease. The first report enables the optional features of the queue; a refused one
   *   must not.
   */
  async report(held: AttemptToken, report: Report, check: () => Promise<unknown>): Promise<void> {
    if (this.#waiting > 0 || !this.#shard.settings.usesOptional) {
      const ready = this.#enable(this.#earlier, check);
      this.#earlier = ready.catch(() => undefined);
      this.#waiting += 1;
      try {
        await ready;
      } finally {
        this.#waiting -= 1;
      }
    }
    requireHeld(this.#shard, held, await this.#leases.report(held, report));
  }

  async #enable(before: Promise<unknown>, check: () => Promise<unknown>): Promise<void> {
    await before;
    if (!this.#shard.settings.usesOptional) await check();
    await this.#shard.enableOptional();
  }
}

/** Throws the error for a script's answer, unless the attempt has its lease. */
export function requireHeld({ queue }: Shard, { storedId }: AttemptToken, answer: LeaseAnswer): void {
  if (answer === '1') return;
  const id = decodeTaskId(storedId);
  throw answer === 'C' ? new TaskCancelledError(queue, id) : taskLeaseLost(queue, id);
}
