/** Renewals, progress and log lines of claimed tasks. */
import { Coalescer } from '@mortise/redis';
import { TaskCancelledError, taskLeaseLost } from '../errors.js';
import type { Shard } from '../shard/shard.js';
import { decodeTaskId } from '../task/task-id.js';
import type { AttemptToken } from '../work/completer.js';
import type { Report } from '../work/heartbeater.js';
import {
  MAX_RENEWALS,
  MAX_REPORTS,
  MAX_REPORTS_BYTES,
  mergeReports,
  renewLeases,
  storeReports,
} from '../work/heartbeater.js';

type ClaimReport = AttemptToken & Report;

/**
 * The heartbeats of one shard. Calls of one tick share a script call. All reject with ERR_LEASE_LOST or ERR_TASK_CANCELLED.
 */
export class ClaimHeartbeats {
  readonly #shard: Shard;
  readonly #renewals = new Coalescer<number, AttemptToken, void>(
    async (leaseMs, held) => this.#refusals(held, await renewLeases(this.#shard, leaseMs, held)),
    { maxBatch: MAX_RENEWALS },
  );
  readonly #reports = new Coalescer<ClaimHeartbeats, ClaimReport, void>((_, reports) => this.#send(reports), {
    maxBatch: MAX_REPORTS,
    maxBytes: MAX_REPORTS_BYTES,
    bytesOf: ({ progress, lines }) => progress.length + lines.length,
  });
  /** The last report that waits for optional features to be enabled. */
  #earlier: Promise<unknown> = Promise.resolve();
  #waiting = 0;

  constructor(shard: Shard) {
    this.#shard = shard;
  }

  renew(held: AttemptToken, leaseMs: number): Promise<void> {
    return this.#renewals.submit(leaseMs, held);
  }

  /**
   * Reports are stored in the order of the calls.
   *
   * @param check Rejects for an expired lease. The first report enables the optional features of the queue; a refused one
   *   must not.
   */
  async report(report: ClaimReport, check: () => Promise<unknown>): Promise<void> {
    if (this.#waiting === 0 && this.#shard.settings.usesOptional) return this.#reports.submit(this, report);
    const ready = this.#enable(this.#earlier, check);
    this.#earlier = ready.catch(() => undefined);
    this.#waiting += 1;
    try {
      await ready;
    } finally {
      this.#waiting -= 1;
    }
    return this.#reports.submit(this, report);
  }

  async #enable(before: Promise<unknown>, check: () => Promise<unknown>): Promise<void> {
    await before;
    if (!this.#shard.settings.usesOptional) await check();
    await this.#shard.enableOptional();
  }

  async #send(batch: readonly ClaimReport[]): Promise<(Error | undefined)[]> {
    const merged = new Map<string, ClaimReport & { readonly index: number }>();
    for (const report of batch) {
      const before = merged.get(keyOf(report));
      const index = before?.index ?? merged.size;
      merged.set(keyOf(report), { ...report, ...mergeReports(before, report), index });
    }
    const answers = await storeReports(this.#shard, [...merged.values()]);
    return this.#refusals(batch, batch.map((report) => answers[merged.get(keyOf(report))!.index]).join(''));
  }

  #refusals(held: readonly AttemptToken[], answers: string): (Error | undefined)[] {
    return held.map(({ storedId }, index) => refusalOf(this.#shard, storedId, answers[index]));
  }
}

function keyOf({ storedId, token }: AttemptToken): string {
  return `${token} ${storedId.toString('latin1')}`;
}

/** The error for a script's answer; undefined if the attempt has its lease. */
export function refusalOf({ queue }: Shard, storedId: Buffer, answer: string | undefined): Error | undefined {
  if (answer === '1') return undefined;
  const id = decodeTaskId(storedId);
  return answer === 'C' ? new TaskCancelledError(queue, id) : taskLeaseLost(queue, id);
}
