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
import type { ErrorReporter, Wake } from '@mortise/redis';
import { Loop, waitFor } from '@mortise/redis';
import { TaskCancelledError, taskLeaseLost } from '../errors.js';
import type { Shard } from '../shard/shard.js';
import { decodeTaskId } from '../task/task-id.js';
import type { AttemptToken } from './completer.js';
import type { LeaseAnswer, Report } from './leases.js';
import { Leases } from './leases.js';
import type { NewStep, NewWait, StoredSteps, WaitAnswer } from './step-store.js';
import { StepStore } from './step-store.js';
import type { Service } from './service.js';
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

const CANCEL = /^cancel ((?:[0-9a-f]{2})+)$/;

export class Heartbeater implements Service {
  readonly #shard: Shard;
  readonly #leaseMs: number;
  readonly #reporter: ErrorReporter;
  readonly #held = new Set<Leased>();
  readonly #leases: Leases;
  readonly #steps: StepStore;
  readonly #beat: Loop;
  readonly #cancellations: WakeUps;
  #state: 'stopped' | 'beating' = 'stopped';
  #expiry: NodeJS.Timeout | undefined;
  #expiryAt = Infinity;

  constructor(shard: Shard, workerId: string, leaseMs: number, reporter: ErrorReporter) {
    this.#shard = shard;
    this.#leases = new Leases(shard);
    this.#steps = new StepStore(shard);
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
    if (this.#state === 'beating') return;
    this.#state = 'beating';
    this.#beat.start();
    this.#cancellations.start();
  }

  async stop(): Promise<void> {
    this.#state = 'stopped';
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
  async renew(attempt: Leased): Promise<boolean> {
    const { answer, leaseEndsAt } = await this.#leases.renew(attempt.fetched, this.#leaseMs);
    const isRenewed = this.#applyAnswer(attempt, answer);
    if (isRenewed) attempt.leaseEndsAt = leaseEndsAt;
    return isRenewed;
  }

  /** Resolves with whether the report was stored; otherwise the attempt is abandoned. Calls of one tick share a call. */
  async report(attempt: Leased, report: Report): Promise<boolean> {
    await this.#shard.enableOptional();
    return this.#applyAnswer(attempt, await this.#leases.report(attempt.fetched, report));
  }

  /** Resolves to the answer of steps.store.lua. An attempt that has lost its lease is abandoned. */
  async storeStep(attempt: Leased, step: NewStep): Promise<string> {
    await this.#shard.enableOptional();
    const answer = await this.#steps.store(attempt.fetched, step);
    if (answer === '0' || answer === 'C') this.#applyAnswer(attempt, answer);
    return answer;
  }

  /** As `storeStep`. */
  async waitFor(attempt: Leased, wait: NewWait): Promise<WaitAnswer> {
    await this.#shard.enableOptional();
    const reply = await this.#steps.wait(attempt.fetched, wait);
    if (reply.answer === '0' || reply.answer === 'C') this.#applyAnswer(attempt, reply.answer);
    return reply;
  }

  readSteps(attempt: Leased): Promise<StoredSteps> {
    return this.#steps.read(attempt.fetched.storedId);
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

  /** Abandons an attempt that has lost its lease, according to a script's answer. */
  #applyAnswer(attempt: Leased, answer: LeaseAnswer): boolean {
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
