/**
 * Keeps the leases of what a worker runs of one queue: one renewal for all of them at a third of the lease, and a timer
 * that abandons an attempt the moment its lease has run out here, whether or not Redis can be reached. Each queue has
 * its own, so that a node of a Cluster that doesn't answer costs no lease of other nodes.
 */
import type { CommandArgument, RedisClient } from '@mortise/redis';
import { Coalescer, Loop } from '@mortise/redis';
import type { Attempt } from './attempt.js';
import { TaskCancelledError, taskLeaseLost } from '../errors.js';
import type { QueueKeys } from '../keys.js';
import { leaseEnd } from './lease-end.js';
import type { Reporter } from './reporter.js';
import { heartbeaterRenew } from '../scripts.gen.js';
import { untilAborted } from './until-aborted.js';

const MAX_BATCH = 500;

export class Leases {
  readonly #redis: RedisClient;
  readonly #keys: QueueKeys;
  readonly #leaseMs: number;
  readonly #reporter: Reporter;
  readonly #held = new Set<Attempt>();
  readonly #renewals = new Coalescer<Leases, Attempt, boolean>((_, attempts) => this.#send(attempts), {
    maxBatch: MAX_BATCH,
  });
  readonly #renewing: Loop;
  #expiry: NodeJS.Timeout | undefined;
  #expiryAt = Infinity;

  constructor(redis: RedisClient, keys: QueueKeys, leaseMs: number, reporter: Reporter) {
    this.#redis = redis;
    this.#keys = keys;
    this.#leaseMs = leaseMs;
    this.#reporter = reporter;
    this.#renewing = new Loop('mortise leases', (signal) => this.#renewAll(signal), {
      onError: (error) => reporter.tellFailure(error),
      backoff: { maxDelayMs: leaseMs / 6 },
    });
  }

  start(): void {
    this.#renewing.start();
  }

  async stop(): Promise<void> {
    clearTimeout(this.#expiry);
    await this.#renewing.stop();
  }

  add(attempt: Attempt): void {
    this.#held.add(attempt);
    this.#arm(attempt.leaseEndsAt);
    // The reply took so long that the next renewal of all may come too late.
    if (attempt.leaseEndsAt - performance.now() < this.#leaseMs / 2) this.#renewing.wake();
  }

  delete(attempt: Attempt): void {
    this.#held.delete(attempt);
  }

  /** Resolves with whether the lease was renewed; an attempt that has lost it is abandoned. */
  renew(attempt: Attempt): Promise<boolean> {
    return this.#renewals.submit(this, attempt);
  }

  /** The attempt that is held of this task. O(held). */
  find(id: string): Attempt | undefined {
    for (const attempt of this.#held) if (attempt.id === id) return attempt;
    return undefined;
  }

  /** Renews all leases now: what was lost or cancelled comes to light. */
  check(): void {
    this.#renewing.wake();
  }

  /** Reads what a script says of an attempt, and abandons one that isn't ours any more. */
  judge(attempt: Attempt, answer: string | undefined): boolean {
    if (answer === '1') return true;
    if (answer === 'C') this.#cancel(attempt);
    else this.#lose(attempt);
    return false;
  }

  async #send(attempts: readonly Attempt[]): Promise<boolean[]> {
    const leases: CommandArgument[] = [];
    for (const { taken } of attempts) leases.push(taken.storedId, taken.token);
    const sentAt = performance.now();
    const { attempts: last, active } = this.#keys.of;
    const reply = (await heartbeaterRenew.run(
      this.#redis,
      { attempts: last, active },
      { leaseMs: this.#leaseMs, leases },
    )) as string;
    return attempts.map((attempt, index) => {
      const isRenewed = this.judge(attempt, reply[index]);
      if (isRenewed) attempt.leaseEndsAt = leaseEnd(sentAt, this.#leaseMs);
      return isRenewed;
    });
  }

  async #renewAll(signal: AbortSignal): Promise<number> {
    const renewals = Promise.allSettled([...this.#held].map((attempt) => this.renew(attempt)));
    const failed = (await untilAborted(renewals, signal)).find(({ status }) => status === 'rejected');
    if (failed) throw (failed as PromiseRejectedResult).reason;
    return this.#leaseMs / 3;
  }

  /** The timer stands for the lease that ends first; renewals don't move it, since it looks again when it fires. */
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

  #cancel(attempt: Attempt): void {
    this.delete(attempt);
    if (!attempt.isOver) attempt.abandon(new TaskCancelledError(attempt.queue, attempt.id));
  }

  #lose(attempt: Attempt): void {
    this.delete(attempt);
    if (attempt.isOver) return;
    const error = taskLeaseLost(attempt.queue, attempt.id);
    attempt.abandon(error);
    this.#reporter.tell(error);
  }
}
