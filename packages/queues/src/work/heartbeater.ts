/**
 * Renews the leases of one worker's attempts in one shard, learns of cancellations, and sends progress and log lines.
 *
 *   stopped ──start──► beating ──stop──► stopped
 *
 *   beating   Every third of a lease one call renews all leases. A timer abandons an attempt at the end of its lease, even if
 *             Redis cannot be reached. A message about a cancellation makes the heartbeater renew that lease at once, and the
 *             answer says whether the task is cancelled. So a lost message costs time (until the next renewal), and a late one,
 *             when the task runs again, does no harm.
 *
 * Each shard has its own, so a Cluster node that doesn't answer costs no lease of other nodes.
 *
 * Rejected: subscribing only when the queue uses optional features. A full worker doesn't learn of that, so the first
 * cancellation of a queue took a third of a lease.
 */
import type { CommandArgument, ErrorReporter, Wake } from '@mortise/redis';
import { Coalescer, Loop, waitFor } from '@mortise/redis';
import { TaskCancelledError, taskLeaseLost } from '../errors.js';
import { heartbeaterRenew, heartbeaterReport } from '../scripts.gen.js';
import type { Shard } from '../shard/shard.js';
import { decodeTaskId } from '../task/task-id.js';
import type { AttemptToken } from './completer.js';
import { leaseEnd } from './lease-end.js';
import { WakeUps } from './wake-ups.js';

/** The lease of an attempt. */
export interface Leased {
  readonly id: string;
  readonly queue: string;
  readonly fetched: AttemptToken;
  leaseEndsAt: number;
  readonly isOver: boolean;
  abandon(reason: Error): void;
}

/** Progress and log lines of an attempt. */
export interface Report {
  /** JSON, or empty. */
  readonly progress: string;
  /** Each line ends with a line break. */
  readonly lines: string;
}

export const MAX_RENEWALS = 500;
export const MAX_REPORTS = 200;
export const MAX_REPORTS_BYTES = 1024 * 1024;
const CANCEL = /^cancel ((?:[0-9a-f]{2})+)$/;

export class Heartbeater {
  readonly #shard: Shard;
  readonly #leaseMs: number;
  readonly #reporter: ErrorReporter;
  readonly #held = new Set<Leased>();
  readonly #renewals = new Coalescer<Heartbeater, Leased, boolean>((_, held) => this.#renew(held), {
    maxBatch: MAX_RENEWALS,
  });
  readonly #reports = new Coalescer<Heartbeater, Report & { readonly attempt: Leased }, boolean>(
    (_, reports) => this.#report(reports),
    {
      maxBatch: MAX_REPORTS,
      maxBytes: MAX_REPORTS_BYTES,
      bytesOf: ({ progress, lines }) => progress.length + lines.length,
    },
  );
  readonly #beat: Loop;
  readonly #cancellations: WakeUps;
  #expiry: NodeJS.Timeout | undefined;
  #expiryAt = Infinity;

  constructor(shard: Shard, workerId: string, leaseMs: number, reporter: ErrorReporter) {
    this.#shard = shard;
    this.#leaseMs = leaseMs;
    this.#reporter = reporter;
    this.#beat = new Loop(`mortise heartbeat of queue ${shard.queue}`, (signal) => this.#renewAll(signal), {
      onError: (error) => reporter.reportRepeated(error),
      backoff: { maxDelayMs: leaseMs / 6 },
    });
    this.#cancellations = new WakeUps(shard.redis, shard.keys.of.active, workerId, reporter, (wake) =>
      this.#learn(wake),
    );
  }

  /** Leased attempts, running or prefetched. */
  get size(): number {
    return this.#held.size;
  }

  start(): void {
    this.#beat.start();
    this.#cancellations.start();
  }

  async stop(): Promise<void> {
    clearTimeout(this.#expiry);
    await Promise.all([this.#beat.stop(), this.#cancellations.stop()]);
  }

  hold(attempt: Leased): void {
    this.#held.add(attempt);
    this.#arm(attempt.leaseEndsAt);
    // The reply took so long that the next renewal may be too late.
    if (attempt.leaseEndsAt - performance.now() < this.#leaseMs / 2) this.#beat.wake();
  }

  drop(attempt: Leased): void {
    this.#held.delete(attempt);
  }

  /** Resolves with whether the lease was renewed; otherwise the attempt is abandoned. Calls of one tick share a call. */
  renew(attempt: Leased): Promise<boolean> {
    return this.#renewals.submit(this, attempt);
  }

  /** Resolves with whether the report was stored; otherwise the attempt is abandoned. Calls of one tick share a call. */
  async report(attempt: Leased, report: Report): Promise<boolean> {
    await this.#shard.enableOptional();
    return this.#reports.submit(this, { ...report, attempt });
  }

  /** Handles a cancellation. Any other wake-up means that messages may have been lost. O(held attempts). */
  #learn(wake: Wake | undefined): void {
    if (wake?.type !== 'message') {
      this.#beat.wake();
      return;
    }
    const [, hex] = CANCEL.exec(wake.body.toString('latin1')) ?? [];
    const id = hex === undefined ? undefined : decodeTaskId(Buffer.from(hex, 'hex'));
    for (const attempt of this.#held) {
      if (attempt.id === id) this.renew(attempt).catch((error) => this.#reporter.reportRepeated(error));
    }
  }

  async #renew(held: readonly Leased[]): Promise<boolean[]> {
    const sentAt = performance.now();
    const answers = await renewLeases(
      this.#shard,
      this.#leaseMs,
      held.map(({ fetched }) => fetched),
    );
    return held.map((attempt, index) => {
      const isRenewed = this.#applyAnswer(attempt, answers[index]);
      if (isRenewed) attempt.leaseEndsAt = leaseEnd(sentAt, this.#leaseMs);
      return isRenewed;
    });
  }

  async #report(reports: readonly (Report & { readonly attempt: Leased })[]): Promise<boolean[]> {
    const merged = new Map<Leased, Report>();
    for (const { attempt, ...report } of reports)
      merged.set(attempt, mergeReports(merged.get(attempt), report));
    const entries = Array.from(merged, ([{ fetched }, report]) => ({ ...fetched, ...report }));
    const answers = await storeReports(this.#shard, entries);
    const stored = new Set<Leased>();
    for (const [index, attempt] of [...merged.keys()].entries()) {
      if (this.#applyAnswer(attempt, answers[index])) stored.add(attempt);
    }
    return reports.map(({ attempt }) => stored.has(attempt));
  }

  /** Abandons an attempt that has lost its lease, according to a script's answer. */
  #applyAnswer(attempt: Leased, answer: string | undefined): boolean {
    if (answer === '1') return true;
    if (answer === 'C') {
      this.drop(attempt);
      if (!attempt.isOver) attempt.abandon(new TaskCancelledError(attempt.queue, attempt.id));
    } else this.#lose(attempt);
    return false;
  }

  async #renewAll(signal: AbortSignal): Promise<number> {
    const renewals = Promise.allSettled([...this.#held].map((attempt) => this.renew(attempt)));
    const settled = await waitFor(renewals, { signal });
    const failed = settled.find(({ status }) => status === 'rejected');
    if (failed) throw (failed as PromiseRejectedResult).reason;
    return this.#leaseMs / 3;
  }

  /** Sets the timer for the lease that ends first. Renewals don't move it, since it checks the leases when it fires. */
  #arm(endsAt: number): void {
    if (endsAt >= this.#expiryAt) return;
    clearTimeout(this.#expiry);
    this.#expiryAt = endsAt;
    this.#expiry = setTimeout(
      () => this.#expire(),
      Math.max(0, Math.ceil(endsAt - performance.now())),
    ).unref();
  }

  #expire(): void {
    const now = performance.now();
    this.#expiryAt = Infinity;
    let nextAt = Infinity;
    for (const attempt of this.#held) {
      if (attempt.leaseEndsAt <= now) this.#lose(attempt);
      else nextAt = Math.min(nextAt, attempt.leaseEndsAt);
    }
    if (nextAt < Infinity) this.#arm(nextAt);
  }

  #lose(attempt: Leased): void {
    this.drop(attempt);
    if (attempt.isOver) return;
    const error = taskLeaseLost(attempt.queue, attempt.id);
    attempt.abandon(error);
    this.#reporter.report(error);
  }
}

/** Keeps the latest progress and appends the lines. */
export function mergeReports(before: Report | undefined, { progress, lines }: Report): Report {
  return { progress: progress || (before?.progress ?? ''), lines: (before?.lines ?? '') + lines };
}

/** Resolves with one character a lease: 1 renewed, 0 lost, C the task was cancelled. */
export async function renewLeases(
  { redis, keys }: Shard,
  leaseMs: number,
  held: readonly AttemptToken[],
): Promise<string> {
  const { attempts, active } = keys.of;
  const leases = held.flatMap<CommandArgument>(({ storedId, token }) => [storedId, token]);
  return (await heartbeaterRenew.run(redis, { attempts, active }, { leaseMs, leases })) as string;
}

/** Resolves with one character a report, as `renewLeases` does. No attempt may occur twice. */
export async function storeReports(
  { redis, keys, publish, settings }: Shard,
  reports: readonly (AttemptToken & Report)[],
): Promise<string> {
  const { attempts, progress: progressKey, logs, events } = keys.of;
  const entries = reports.flatMap<CommandArgument>(({ storedId, token, progress, lines }) => [
    storedId,
    token,
    progress,
    lines,
  ]);
  return (await heartbeaterReport.run(
    redis,
    { attempts, progress: progressKey, logs, events },
    { keepEvents: settings.values.keepEvents, publish, entries },
  )) as string;
}
