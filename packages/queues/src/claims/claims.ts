/**
 * A worker without handlers: gives tasks to somebody else, such as a program that talks HTTP, and takes back what became of
 * them. Nothing of a claimed task is kept here: its lease, a string, is all that is needed to go on, in any process.
 */
import type { RedisClient } from '@mortise/redis';
import {
  ArgumentRangeError,
  ArgumentTypeError,
  describeError,
  requireClient,
  requireName,
} from '@mortise/redis';
import { v7 as uuidv7 } from 'uuid';
import { TaskCancelledError, taskLeaseLost } from '../errors.js';
import { DEFAULTS } from '../options.js';
import { queueGet } from '../scripts.gen.js';
import { Shards } from '../shard/shards.js';
import { decodeRecord } from '../task/record.js';
import { encodeTaskId } from '../task/task-id.js';
import type { TaskMap } from '../task/task.js';
import { retryDelayMs } from '../work/backoff.js';
import { linesOf, progressJson } from '../work/notes.js';
import { Reporter } from '../work/reporter.js';
import type { Completion } from '../work/completion.js';
import { GIVEN_BACK, SUCCEEDED } from '../work/completion.js';
import { Ask } from './ask.js';
import type { ClaimedTask } from './claimed-task.js';
import { Desk } from './desk.js';
import type { Held, Note } from './held.js';
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

/** How long `stop` waits for Redis to take the last acks. */
const FAREWELL_MS = 2_000;

export class Claims<Tasks extends TaskMap<Tasks> = Record<string, unknown>> {
  readonly queue: string;
  readonly #id = uuidv7();
  readonly #redis: RedisClient;
  readonly #options: ResolvedClaimsOptions;
  #shards: Shards;
  readonly #reporter: Reporter;
  readonly #asks = new Set<Ask>();
  #desks: readonly Desk[] = [];
  /** The shard that is asked first. */
  #turn = 0;
  #stopped: Promise<void> | undefined;

  /**
   * @param redis A client of ioredis. It is used as it is and never closed.
   * @param queue 1 to 1,024 bytes, any characters.
   */
  constructor(redis: RedisClient, queue: string, options: ClaimsOptions = {}) {
    this.#redis = requireClient(redis);
    this.queue = requireName('queue', queue);
    this.#options = resolveClaimsOptions(options);
    this.#shards = new Shards(redis, queue, options.prefix);
    this.#reporter = new Reporter(redis, this.#options.onError);
  }

  /** Claims that wait. */
  get waiting(): number {
    return this.#asks.size;
  }

  /**
   * Takes tasks, in the order in which a worker would; `[]` when none came within `waitMs`. Waits like a parked worker, which
   * costs nothing until there is something. Each task belongs to whoever has its `lease`, until `leaseUntil`; one that is
   * neither completed nor failed by then runs again, as does what was taken by a call whose reply was lost.
   *
   * One round trip; without a task one more to leave again, and both for each shard. Claims of one tick and lease share them.
   * Rejects with TypeError or RangeError, with the reason of the signal, and with what Redis refuses: also while it waits.
   */
  async claim(options: ClaimOptions = {}): Promise<ClaimedTask<Tasks>[]> {
    const { max, waitMs, leaseMs, signal } = resolveClaim(options);
    if (this.#stopped) throw new TypeError('no claims after stop');
    signal?.throwIfAborted();
    const ask = new Ask(max, leaseMs, waitMs > 0);
    this.#asks.add(ask);
    const onAbort = (): void => ask.fail(signal!.reason);
    signal?.addEventListener('abort', onAbort, { once: true });
    const timer = waitMs > 0 ? setTimeout(() => ask.give([]), waitMs) : undefined;
    try {
      void this.#ask(ask);
      return (await ask.outcome) as ClaimedTask<Tasks>[];
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
      this.#asks.delete(ask);
    }
  }

  /**
   * The task has succeeded. `result`: JSON of up to 262,144 bytes, otherwise TypeError or RangeError. One round trip, shared by
   * calls of one tick. Rejects with ERR_LEASE_LOST or ERR_TASK_CANCELLED; then nothing is changed. A lost reply may mean that
   * it is done: repeating it is safe, and rejects with ERR_LEASE_LOST then.
   */
  async complete(id: string, lease: string, result?: unknown): Promise<void> {
    const data = result === undefined ? '' : resultJson(result);
    await this.#settle(id, lease, { ...SUCCEEDED, data });
  }

  /**
   * The attempt has failed: the task runs again after its backoff, or `delayMs`; it is dead when it has no attempts left, or
   * with `retry: false`. Two round trips. Rejects as `complete` does.
   */
  async fail(id: string, lease: string, options: FailOptions): Promise<void> {
    requireFailOptions(options);
    const { error, retry = true, delayMs } = options;
    const { desk, held } = await this.#find(id, lease);
    const { attempt, attempts, record } = await this.#look(id, desk, held);
    const data = describeError(error);
    if (!retry || attempt >= attempts) return desk.settle(held, { verdict: 'D', delayMs: 0, data });
    const failed = { id, queue: this.queue, name: record.name, attempt, attempts, record };
    const after =
      delayMs ?? retryDelayMs(failed, error, this.#options.backoff, (told) => this.#reporter.tell(told));
    return desk.settle(held, { verdict: 'R', delayMs: after, data });
  }

  /** Another one gets the task, at once or after `delayMs`; the attempt does not count. Cost and refusals as for `complete`. */
  async giveBack(id: string, lease: string, options: GiveBackOptions = {}): Promise<void> {
    const delayMs = resolveGiveBack(options);
    await this.#settle(id, lease, delayMs > 0 ? { verdict: 'L', delayMs, data: '' } : GIVEN_BACK);
  }

  /** The lease ends `leaseMs` (default 10,000) from now, sooner or later than before. Cost and refusals as for `complete`. */
  async heartbeat(id: string, lease: string, leaseMs?: number): Promise<void> {
    const termMs = resolveLeaseMs(leaseMs);
    const { desk, held } = await this.#find(id, lease);
    await desk.held.renew(held, termMs);
  }

  /** Keeps how far the task is; as `TaskContext.progress`. */
  async progress(id: string, lease: string, value: unknown): Promise<void> {
    const progress = progressJson(value);
    await this.#note(id, lease, { progress, lines: '' });
  }

  /** Keeps a line with the task; as `TaskContext.log`. */
  async log(id: string, lease: string, text: string): Promise<void> {
    const lines = linesOf(text);
    await this.#note(id, lease, { progress: '', lines });
  }

  /**
   * Ends all waits with `[]`; what was claimed can still be completed by other instances. Idempotent. Ends within 2 s, also
   * when Redis cannot be reached.
   */
  stop(): Promise<void> {
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  async #stop(): Promise<void> {
    for (const ask of this.#asks) ask.give([]);
    await Promise.all(this.#desks.map((desk) => desk.stop(FAREWELL_MS)));
  }

  async #ask(ask: Ask): Promise<void> {
    try {
      const desks = await this.#open();
      const from = this.#turn;
      this.#turn = (from + 1) % desks.length;
      for (let step = 0; step < desks.length && !ask.isOver; step += 1) {
        await desks[(from + step) % desks.length]!.serve(ask);
      }
      if (!ask.isWaiting) ask.give([]);
    } catch (error) {
      ask.fail(error);
    }
  }

  async #open(): Promise<readonly Desk[]> {
    let shards = await this.#shards.open();
    if (shards.length !== shards[0]!.settings.values.shards) {
      // It seemed new, and somebody has founded it with shards in the meantime.
      this.#shards = new Shards(this.#redis, this.queue, this.#options.prefix);
      shards = await this.#shards.open();
    }
    if (shards.length > this.#desks.length) {
      const further = shards.slice(this.#desks.length);
      this.#desks = [...this.#desks, ...further.map((shard) => new Desk(shard, this.#id, this.#options))];
    }
    return this.#desks;
  }

  async #find(id: string, lease: string): Promise<{ desk: Desk; held: Held }> {
    const { shard, token } = readLease(lease);
    const storedId = encodeTaskId(id);
    const desk = (await this.#open())[shard];
    if (this.#stopped) throw new TypeError('no claims after stop');
    if (!desk) throw taskLeaseLost(this.queue, id);
    return { desk, held: { storedId, token } };
  }

  async #settle(id: string, lease: string, completion: Completion): Promise<void> {
    const { desk, held } = await this.#find(id, lease);
    await desk.settle(held, completion);
  }

  async #note(id: string, lease: string, told: Pick<Note, 'progress' | 'lines'>): Promise<void> {
    const { desk, held } = await this.#find(id, lease);
    await desk.held.note({ ...held, ...told }, () => this.#look(id, desk, held));
  }

  /** The attempt that the lease is of. */
  async #look(id: string, { shard }: Desk, { storedId, token }: Held) {
    const reply = await shard.call((keys, { expectedSettings }) =>
      queueGet.runBuffer(this.#redis, keys, { expectedSettings, id: storedId }),
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

function resultJson(result: unknown): string {
  let json: string | undefined;
  try {
    json = JSON.stringify(result);
  } catch (error) {
    throw new ArgumentTypeError(`result is not JSON: ${describeError(error).split('\n', 1)[0]}`, {
      cause: error,
    });
  }
  if (json === undefined) throw new ArgumentTypeError(`result must be JSON, got ${typeof result}`);
  const bytes = Buffer.byteLength(json);
  if (bytes <= DEFAULTS.maxPayloadBytes) return json;
  throw new ArgumentRangeError(
    `result must have at most ${DEFAULTS.maxPayloadBytes} bytes as JSON, got ${bytes}`,
  );
}
