/**
 * The claim requests of a process in one shard. A fetcher like that of a worker fetches their tasks; there is no executor,
 * since the tasks leave the process.
 *
 *   quiet ──a request──► fetching ──a request that waits──► listening ──the last one is over──► lingering ──30 s──► quiet
 *     ▲                      │                                  ▲                                   │
 *     └──the last one is over┘                                  └─────────────a request─────────────┘        all ──stop──► stopped
 *
 *   quiet      No request. The fetcher is paused, so it removes its registration as idle.
 *   fetching   The fetcher calls for all requests with the lease of the oldest one, since a call has one lease. It makes one call
 *              at a time, since a call that asks for no tasks would remove the registration.
 *   listening  As fetching, with a subscription to wake-ups.
 *   lingering  As quiet, still subscribed: the next request may come soon.
 */
import type { ErrorReporter } from '@mortise/redis';
import type { Shard } from '../shard/shard.js';
import { Completer } from '../work/completer.js';
import type { AttemptToken } from '../work/completer.js';
import type { Completion } from '../work/completion.js';
import { died, GIVEN_BACK } from '../work/completion.js';
import type { Demand, FetchedBatch, Room } from '../work/fetcher.js';
import { Fetcher } from '../work/fetcher.js';
import { Maintainer } from '../work/maintainer.js';
import { ReturnPace } from '../work/return-pace.js';
import { WakeUps } from '../work/wake-ups.js';
import { ClaimHeartbeats, requireHeld } from './claim-heartbeats.js';
import type { ClaimRequest } from './claim-request.js';
import { ClaimSteps } from './claim-steps.js';
import type { ClaimTelemetry } from './claim-telemetry.js';
import type { ClaimedTask } from './claimed-task.js';
import { readClaimed } from './claimed-task.js';
import type { ResolvedClaimsOptions } from './options.js';

interface ClaimRoom extends Room {
  readonly requests: readonly ClaimRequest[];
}

const RECHECK_MS = 4_000;
/** A call that fetches nothing is considered lost after this time. */
const CALL_MS = 10_000;
/** The subscription lasts for this time without requests. */
const LINGER_MS = 30_000;
const WAKE_ID = 'w';
/** Delays of tasks that no request takes: a share of their age, within limits. */
const [SHARE_OF_AGE, MIN_RETURN_MS, MAX_RETURN_MS] = [0.1, 100, 15_000];

export class WaitingClaims implements Demand<ClaimRoom> {
  readonly shard: Shard;
  readonly heartbeats: ClaimHeartbeats;
  readonly steps: ClaimSteps;
  readonly #reporter: ErrorReporter;
  readonly #telemetry: ClaimTelemetry | undefined;
  readonly #completer = new Completer(
    () => this.#fetcher.schedule(),
    () => undefined,
    true,
  );
  readonly #maintainer: Maintainer;
  readonly #fetcher: Fetcher<ClaimRoom>;
  readonly #wakeUps: WakeUps;
  /** Oldest first, each with a callback for an empty shard. */
  readonly #requests = new Map<ClaimRequest, () => void>();
  readonly #pace = new ReturnPace();
  #state: 'quiet' | 'fetching' | 'listening' | 'lingering' | 'stopped' = 'quiet';
  #lingering: NodeJS.Timeout | undefined;

  constructor(
    shard: Shard,
    workerId: string,
    options: ResolvedClaimsOptions,
    reporter: ErrorReporter,
    telemetry: ClaimTelemetry | undefined,
  ) {
    this.shard = shard;
    this.#telemetry = telemetry;
    this.heartbeats = new ClaimHeartbeats(shard);
    this.steps = new ClaimSteps(shard);
    this.#reporter = reporter;
    this.#maintainer = new Maintainer(shard, options, reporter, (hasMore) =>
      this.#fetcher.maintained(hasMore),
    );
    this.#fetcher = new Fetcher({
      shard,
      workerId,
      retention: options,
      recheckMs: RECHECK_MS,
      maxInFlight: 1,
      handOffMs: 0,
      demand: this,
      completer: this.#completer,
      maintainer: this.#maintainer,
      reporter,
    });
    const channel = shard.keys.wakeChannel(workerId);
    this.#wakeUps = new WakeUps(shard.redis, channel, WAKE_ID, reporter, () => this.#fetcher.wake());
    this.#maintainer.start();
    this.#fetcher.start();
    this.#fetcher.pause();
  }

  /** Resolves when the request is over, or the shard has no task at present. Never rejects. */
  serve(request: ClaimRequest): Promise<void> {
    if (request.isOver) return Promise.resolve();
    return new Promise((resolve) => {
      this.#requests.set(request, resolve);
      clearTimeout(this.#lingering);
      if (this.#state === 'lingering') this.#state = 'listening';
      else if (request.isWaiting && this.#state !== 'listening') {
        this.#state = 'listening';
        this.#wakeUps.start();
      } else if (this.#state === 'quiet') this.#state = 'fetching';
      this.#fetcher.resume();
      this.#fetcher.wake();
    });
  }

  /** Removes a request that is over. */
  remove(request: ClaimRequest): void {
    this.#requests.get(request)?.();
    if (!this.#requests.delete(request) || this.#requests.size > 0 || this.#state === 'stopped') return;
    this.#fetcher.pause();
    if (this.#state === 'fetching') {
      this.#state = 'quiet';
      return;
    }
    this.#state = 'lingering';
    this.#lingering = setTimeout(() => {
      this.#state = 'quiet';
      void this.#wakeUps.stop();
    }, LINGER_MS).unref();
  }

  /** Rejects with ERR_LEASE_LOST or ERR_TASK_CANCELLED. Shares a call with the other completions of the tick. */
  async complete(task: AttemptToken, completion: Completion): Promise<void> {
    const answer = await new Promise<string>((resolve, reject) => {
      this.#completer.add(task, completion, { onAnswer: resolve, onFailure: reject });
    });
    if (answer === '0') this.#telemetry?.lost();
    requireHeld(this.shard, task, answer);
    this.#telemetry?.completed(completion);
  }

  /** Resolves when everything is acked, or the time is over. Call it when all requests are over. */
  async stop(withinMs: number): Promise<void> {
    const deadline = performance.now() + withinMs;
    this.#state = 'stopped';
    clearTimeout(this.#lingering);
    await this.#fetcher.stop(withinMs);
    await this.#maintainer.stop(Math.max(0, deadline - performance.now()));
    await this.#wakeUps.stop();
  }

  reserve(_: Fetcher<ClaimRoom>, most: number): ClaimRoom {
    const all = most > 0 ? [...this.#requests.keys()] : [];
    const leaseMs = all[0]?.leaseMs ?? CALL_MS;
    const requests = all.filter((request) => request.leaseMs === leaseMs);
    const wanted = requests.reduce((sum, { limit }) => sum + limit, 0);
    const want = Math.min(most, wanted);
    return { want, slots: want, leaseMs, requests };
  }

  receive(_: Fetcher<ClaimRoom>, batch: FetchedBatch<ClaimRoom>): void {
    const { room, tasks: fetched, leaseEndsAt, nowMs, hasMore } = batch;
    const isVoid = performance.now() >= leaseEndsAt;
    const tasks: { readonly token: AttemptToken; readonly task: ClaimedTask }[] = [];
    for (const token of fetched) {
      if (isVoid) this.#putAway(token, GIVEN_BACK);
      else {
        try {
          tasks.push({ token, task: readClaimed(this.shard, token, nowMs, room.leaseMs) });
        } catch (error) {
          this.#telemetry?.died();
          this.#putAway(token, died(error));
        }
      }
    }
    let left = tasks;
    for (const request of room.requests) {
      if (request.isOver) continue;
      const given = left.filter(({ task }) => request.takes(task)).slice(0, request.limit);
      if (given.length === 0) continue;
      left = left.filter((one) => !given.includes(one));
      const claimed = given.map(({ task }) => task);
      this.#telemetry?.claimed(claimed, nowMs);
      request.give(claimed);
    }
    for (const { token, task } of left) {
      const isKnown = room.requests.some((request) => request.takes(task));
      this.#putAway(token, isKnown ? GIVEN_BACK : this.#leftToOthers(nowMs - task.enqueuedAt));
    }
    const isEmpty = nowMs > 0 && fetched.length < room.want && !hasMore;
    // Requests that came during the call still wait. One of some names that doesn't wait has seen its tasks.
    for (const request of room.requests) {
      if (isEmpty || (request.names && !request.isWaiting)) this.#requests.get(request)?.();
    }
  }

  /** The completion of a task that no request takes; see `UnknownTasks`. */
  #leftToOthers(ageMs: number): Completion {
    // By chance, since two claims of different names could pass their tasks to each other for ever.
    const share = SHARE_OF_AGE * ageMs * (0.5 + Math.random());
    const delayMs = Math.min(MAX_RETURN_MS, MIN_RETURN_MS * (1 + 2 * Math.random()) + share);
    return { verdict: 'L', delayMs: delayMs + this.#pace.next(), data: '', leavesTime: true };
  }

  failed(error: unknown): void {
    for (const request of this.#requests.keys()) request.fail(error);
  }

  /** Returns a task that no request waits for. If the call fails, the lease expires. */
  #putAway(token: AttemptToken, completion: Completion): void {
    this.#completer.add(token, completion, {
      onFailure: (error) => this.#reporter.reportRepeated(error),
    });
  }
}
