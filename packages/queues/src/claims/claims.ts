/**
 * Gives tasks to other programs, such as HTTP clients, and receives their completions: a worker without handlers. It keeps
 * no state of a claimed task; any process can continue with the lease, a string.
 *
 *   stopped ──the first call──► running ──stop──► stopping ──all is acked──► stopped
 */
import type { RedisClient } from '@mortise/redis';
import { ErrorReporter, onAbort, requireClient, requireName, TIMED_OUT, waitFor } from '@mortise/redis';
import { randomUUID } from 'node:crypto';
import { TaskCancelledError, taskLeaseLost } from '../errors.js';
import { queueGet } from '../scripts.gen.js';
import { Shards } from '../shard/shards.js';
import { jsonText } from '../task/json-text.js';
import { decodeRecord } from '../task/record.js';
import { encodeTaskId } from '../task/task-id.js';
import type { TaskMap } from '../task/task.js';
import type { AttemptToken } from '../work/completer.js';
import type { Completion } from '../work/completion.js';
import { died, GIVEN_BACK, retried, SUCCEEDED, suspended } from '../work/completion.js';
import type { Report } from '../work/leases.js';
import { linesOf, progressJson } from '../work/progress.js';
import { retryDelayMs } from '../work/retry-delay.js';
import { ClaimRequest } from './claim-request.js';
import type { ClaimedSteps, ClaimWaitOptions } from './claim-steps.js';
import { resolveClaimWait } from './claim-steps.js';
import { ClaimTelemetry } from './claim-telemetry.js';
import type { ClaimedTask } from './claimed-task.js';
import { readLease } from './lease.js';
import type {
  ClaimOptions,
  ClaimsOptions,
  FailOptions,
  GiveBackOptions,
  ResolvedClaimsOptions,
} from './options.js';
import {
  requireFailOptions,
  resolveClaim,
  resolveClaimsOptions,
  resolveGiveBack,
  resolveLeaseMs,
} from './options.js';
import { WaitingClaims } from './waiting-claims.js';

/** How long `stop` waits for Redis to accept the last completions. */
const LAST_ACKS_MS = 2_000;

export class Claims<Tasks extends TaskMap<Tasks> = Record<string, unknown>> {
  readonly queue: string;
  readonly #id = randomUUID();
  readonly #redis: RedisClient;
  readonly #options: ResolvedClaimsOptions;
  readonly #shards: Shards;
  readonly #reporter: ErrorReporter;
  readonly #telemetry: ClaimTelemetry | undefined;
  readonly #requests = new Set<ClaimRequest>();
  /** Of each shard; none while stopped. */
  #waitingIn: readonly WaitingClaims[] = [];
  #starting: Promise<readonly WaitingClaims[]> | undefined;
  /** The shard that gets the next request first. */
  #nextShard = 0;
  #stopping: Promise<void> | undefined;

  /**
   * @param redis An ioredis client, used as it is and never closed.
   * @param queue 1 to 1,024 bytes, any characters.
   */
  constructor(redis: RedisClient, queue: string, options: ClaimsOptions = {}) {
    this.#redis = requireClient(redis);
    this.queue = requireName('queue', queue);
    this.#options = resolveClaimsOptions(options);
    this.#shards = new Shards(redis, queue, options.prefix, {}, this.#options.codecs);
    this.#reporter = new ErrorReporter('mortise claims', this.#options.onError, redis);
    const { telemetry } = options;
    this.#telemetry = telemetry === undefined ? undefined : new ClaimTelemetry(telemetry, queue);
  }

  /** Number of waiting claims. */
  get waiting(): number {
    return this.#requests.size;
  }

  /**
   * Claims tasks in the order in which a worker would fetch them; `[]` if none comes within `waitMs`. A waiting claim costs
   * nothing, like an idle worker. The holder of a task's `lease` has the task until `leaseUntil`. A task that is neither
   * completed nor failed by then runs again, and so does a task whose reply was lost. Tasks of all names are claimed, or only
   * those of `names`. `unknownAfterMs` of workers doesn't apply here: a task that no claim takes goes on waiting.
   *
   * One round trip for each shard, and one more to end the wait when no task comes. Claims of one tick with the same `leaseMs`
   * share round trips. Rejects with TypeError or RangeError, with the reason of the signal, and with errors of Redis, also
   * during the wait.
   */
  async claim(options: ClaimOptions = {}): Promise<ClaimedTask<Tasks>[]> {
    const { limit, waitMs, leaseMs, names, signal } = resolveClaim(options);
    signal?.throwIfAborted();
    const request = new ClaimRequest(limit, leaseMs, waitMs > 0, names);
    const unlisten = signal && onAbort(signal, () => request.fail(signal.reason));
    this.#requests.add(request);
    try {
      void this.#serve(request);
      const tasks = await waitFor(request.outcome, waitMs > 0 ? { waitMs } : {});
      return tasks === TIMED_OUT ? [] : (tasks as ClaimedTask<Tasks>[]);
    } finally {
      unlisten?.();
      request.give([]);
      this.#requests.delete(request);
    }
  }

  /**
   * Completes a task as succeeded. The `result` has up to `maxPayloadBytes` as JSON; otherwise the call rejects with TypeError
   * or RangeError. One round trip, shared by calls of one tick. Rejects with ERR_LEASE_LOST or ERR_TASK_CANCELLED; then nothing
   * is changed. After a lost reply the task may be completed: repeat the call, which then rejects with ERR_LEASE_LOST.
   */
  async complete(id: string, lease: string, result?: unknown): Promise<void> {
    const { maxPayloadBytes, codecs } = this.#options;
    const json = result === undefined ? '' : jsonText('result', result, maxPayloadBytes);
    const data = json === '' || !codecs ? json : codecs.encode(json);
    await this.#complete(id, lease, { ...SUCCEEDED, data });
  }

  /**
   * Fails the attempt: the task runs again after its backoff or `delayMs`. A task without attempts left is dead, and so is one
   * with `retry: false`. Two round trips. Rejects as `complete` does.
   */
  async fail(id: string, lease: string, options: FailOptions): Promise<void> {
    requireFailOptions(options);
    const { error, retry = true, delayMs } = options;
    const { claims, task } = await this.#find(id, lease);
    const { attempt, attempts, record } = await this.#look(id, claims, task);
    if (!retry || attempt >= attempts) return this.#complete(id, lease, died(error));
    const failed = { id, queue: this.queue, name: record.name, attempt, attempts, record };
    const after =
      delayMs ??
      retryDelayMs(failed, error, this.#options.backoff, (reported) => this.#reporter.report(reported));
    return this.#complete(id, lease, retried(after, error));
  }

  /**
   * Returns the task to the queue, at once or after `delayMs`; the attempt does not count. Cost and errors as for
   * `complete`.
   */
  async giveBack(id: string, lease: string, options: GiveBackOptions = {}): Promise<void> {
    const delayMs = resolveGiveBack(options);
    await this.#complete(id, lease, delayMs > 0 ? { verdict: 'L', delayMs, data: '' } : GIVEN_BACK);
  }

  /**
   * Sets the end of the lease to `leaseMs` (default 10,000) from now, which may be sooner. Cost and errors as for
   * `complete`.
   */
  async heartbeat(id: string, lease: string, leaseMs?: number): Promise<void> {
    const termMs = resolveLeaseMs(leaseMs);
    const { claims, task } = await this.#find(id, lease);
    await claims.heartbeats.renew(task, termMs);
  }

  /** Stores the progress of the task, as `TaskContext.progress` does. */
  async progress(id: string, lease: string, value: unknown): Promise<void> {
    const progress = progressJson(value);
    await this.#report(id, lease, { progress, lines: '' });
  }

  /** Stores a log line with the task, as `TaskContext.log` does. After a lost reply, a second call may store the line twice. */
  async log(id: string, lease: string, text: string): Promise<void> {
    const lines = linesOf(text);
    await this.#report(id, lease, { progress: '', lines });
  }

  /**
   * Reads the cursor and the steps that this attempt and earlier ones have stored. The claimer skips these steps. The call
   * costs two round trips, and rejects as `complete` does.
   */
  async steps(id: string, lease: string): Promise<ClaimedSteps> {
    const { claims, task } = await this.#find(id, lease);
    await this.#look(id, claims, task);
    return claims.steps.read(task);
  }

  /**
   * Stores the result of a step, and resolves to the result as a later attempt gets it. A step that is already stored keeps its
   * result, so repeating the call is safe. The limits are those of `TaskContext.step`. One round trip, or two for a step that
   * is already stored; O(steps). Rejects as `complete` does, and with ERR_TOO_MANY_STEPS or ERR_STEPS_TOO_LARGE.
   */
  async storeStep(id: string, lease: string, name: string, result?: unknown): Promise<unknown> {
    const { claims, task } = await this.#findForSteps(id, lease);
    return claims.steps.store(task, name, result);
  }

  /** Stores the position of a loop, in place of the last cursor. Cost and errors as for `storeStep`. */
  async setCursor(id: string, lease: string, value: unknown): Promise<void> {
    const { claims, task } = await this.#findForSteps(id, lease);
    await claims.steps.setCursor(task, value);
  }

  /**
   * Takes an event that `queue.deliver` has sent, or one that an earlier call has stored under this step. Resolves to null when
   * no event has come: then the claim is over, and the task can be claimed again when the event comes. One round trip, and one
   * more for null. Rejects as `storeStep` does, and with ERR_EVENT_TIMEOUT when the step has waited for `timeoutMs`.
   */
  async waitFor(
    id: string,
    lease: string,
    options: ClaimWaitOptions,
  ): Promise<{ readonly payload: unknown } | null> {
    const wait = resolveClaimWait(options);
    const { claims, task } = await this.#findForSteps(id, lease);
    const taken = await claims.steps.take(task, wait);
    if ('payload' in taken) return taken;
    await claims.complete(task, suspended(taken));
    return null;
  }

  /**
   * Ends all waits with `[]`; this and other instances can still complete the claimed tasks. Idempotent; a later call starts
   * again. The call takes at most 2 s, even if Redis cannot be reached.
   */
  stop(): Promise<void> {
    this.#stopping ??= this.#stop().finally(() => {
      this.#stopping = undefined;
    });
    return this.#stopping;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  async #stop(): Promise<void> {
    const deadline = performance.now() + LAST_ACKS_MS;
    for (const request of this.#requests) request.give([]);
    // Calls that came before may still read the number of shards.
    await waitFor(Promise.allSettled([this.#starting]), { waitMs: LAST_ACKS_MS });
    const stopped = this.#waitingIn;
    this.#waitingIn = [];
    await Promise.all(stopped.map((claims) => claims.stop(Math.max(0, deadline - performance.now()))));
  }

  async #serve(request: ClaimRequest): Promise<void> {
    try {
      const shards = await this.#start();
      if (request.isOver) return;
      const first = this.#nextShard;
      this.#nextShard = (first + 1) % shards.length;
      request.onOver = () => {
        for (const claims of shards) claims.remove(request);
      };
      for (let step = 0; step < shards.length && !request.isOver; step += 1) {
        await shards[(first + step) % shards.length]!.serve(request);
      }
      if (!request.isWaiting) request.give([]);
    } catch (error) {
      request.fail(error);
    }
  }

  async #start(): Promise<readonly WaitingClaims[]> {
    while (this.#stopping) await this.#stopping;
    this.#starting ??= this.#open().finally(() => {
      this.#starting = undefined;
    });
    return this.#starting;
  }

  async #open(): Promise<readonly WaitingClaims[]> {
    // Again, where the number of shards has changed.
    const shards = await this.#shards.open();
    if (shards.length > this.#waitingIn.length) {
      const added = shards
        .slice(this.#waitingIn.length)
        .map((shard) => new WaitingClaims(shard, this.#id, this.#options, this.#reporter, this.#telemetry));
      this.#waitingIn = [...this.#waitingIn, ...added];
    }
    return this.#waitingIn;
  }

  async #find(id: string, lease: string): Promise<{ claims: WaitingClaims; task: AttemptToken }> {
    const { shard, token } = readLease(lease);
    const storedId = encodeTaskId(id);
    const claims = (await this.#start())[shard];
    if (!claims) throw taskLeaseLost(this.queue, id);
    return { claims, task: { storedId, token } };
  }

  /** Enables the optional features of the queue, once it is known that the lease is not over. */
  async #findForSteps(id: string, lease: string): Promise<{ claims: WaitingClaims; task: AttemptToken }> {
    const found = await this.#find(id, lease);
    const { shard } = found.claims;
    if (!shard.settings.usesOptional) await this.#look(id, found.claims, found.task);
    await shard.enableOptional();
    return found;
  }

  async #complete(id: string, lease: string, completion: Completion): Promise<void> {
    const { claims, task } = await this.#find(id, lease);
    await claims.complete(task, completion);
  }

  async #report(id: string, lease: string, report: Report): Promise<void> {
    const { claims, task } = await this.#find(id, lease);
    await claims.heartbeats.report(task, report, () => this.#look(id, claims, task));
  }

  /** The stored attempt of a lease. */
  async #look(id: string, { shard }: WaitingClaims, { storedId, token }: AttemptToken) {
    const reply = await shard.call((keys, { expectedSettings }) =>
      queueGet.runBuffer(this.#redis, keys, { expectedSettings, id: storedId, isWhole: 1 }),
    );
    const [bytes, state, , last] = (reply ?? []) as Buffer[];
    const isHeld = last?.[0] === ACTIVE && last.readUInt32BE(1) === token;
    if (!bytes || !last || !isHeld) {
      const isCancelled = state?.toString() === 'cancelled';
      throw isCancelled ? new TaskCancelledError(this.queue, id) : taskLeaseLost(this.queue, id);
    }
    const record = decodeRecord(bytes);
    return { record, attempt: last.readUInt16BE(5), attempts: record.attempts };
  }
}

const ACTIVE = 'A'.charCodeAt(0);
