/** One of the independent servers of a quorum. Calls of the same tick for locks of one slot travel in one script call. */
import type { RedisClient, Waiter } from '@mortise/redis';
import { Coalescer, WaiterHub } from '@mortise/redis';
import { QuorumNodeTimeoutError } from '../errors.js';
import type { QuorumMutexKeys } from '../keys.js';
import { quorumMutexInspect, quorumMutexVote, quorumMutexWithdraw } from '../scripts.gen.js';
import { MAX_BATCH } from '../waiting/gate.js';
import { perClient } from '../waiting/per-client.js';

export interface VoteReply {
  readonly isOwn: boolean;
  /** Negative: nobody has the vote. */
  readonly remainingMs: number;
  /** '' if nobody has it. */
  readonly holder: string;
}

export interface VoteRequest {
  readonly keys: QuorumMutexKeys;
  readonly member: string;
  readonly leaseMs: number;
  /** Whether a free vote is taken, and not only an own one lengthened. */
  readonly isNew: boolean;
}

export interface WithdrawRequest {
  readonly keys: QuorumMutexKeys;
  readonly member: string;
  /** Whether those who wait are told. */
  readonly isNews: boolean;
}

export class QuorumNode {
  /** The node behind a client. The same client always gives the same one. */
  static readonly of = perClient((client) => new QuorumNode(client));
  readonly #redis: RedisClient;
  readonly #hub: WaiterHub;
  readonly #votes = new Coalescer<number, VoteRequest, VoteReply>(
    (_, requests) => this.#sendVotes(requests),
    {
      maxBatch: MAX_BATCH,
    },
  );
  readonly #withdrawals = new Coalescer<number, WithdrawRequest, boolean>(
    (_, requests) => this.#sendWithdrawals(requests),
    { maxBatch: MAX_BATCH },
  );
  /** Calls that have not been answered in time, nor later. */
  #late = 0;

  private constructor(redis: RedisClient) {
    this.#redis = redis;
    this.#hub = WaiterHub.of(redis);
  }

  /** Whether the owner has closed the client: nothing will be answered. */
  get isClosed(): boolean {
    return this.#redis.status === 'end';
  }

  vote(request: VoteRequest): Promise<VoteReply> {
    return this.#votes.submit(request.keys.slot, request);
  }

  withdraw(request: WithdrawRequest): Promise<boolean> {
    return this.#withdrawals.submit(request.keys.slot, request);
  }

  async inspect({ vote }: QuorumMutexKeys): Promise<{ holder: string | null; remainingMs: number }> {
    const reply = await quorumMutexInspect.run(this.#redis, { vote }, {});
    const [holder, remainingMs] = reply as [string | null, number];
    return { holder, remainingMs: Math.max(0, remainingMs) };
  }

  /** A place on a channel of this node. */
  waiter(channel: string, id: string): Promise<Waiter> {
    return this.#hub.waiter(channel, id);
  }

  /**
   * What `send` resolves to, if that is there in time. A node that still owes an answer from before is not asked again:
   * a client without a connection keeps its commands, and they would pile up.
   */
  ask<Reply>(send: () => Promise<Reply>, timeoutMs: number): Promise<Reply> {
    if (this.#late > 0) return Promise.reject(new QuorumNodeTimeoutError(timeoutMs));
    return new Promise((resolve, reject) => {
      let isOver = false;
      const timer = setTimeout(() => {
        // After a blocked event loop timers come first: let the answer in that may have arrived meanwhile.
        setImmediate(() => {
          if (isOver) return;
          isOver = true;
          this.#late += 1;
          reject(new QuorumNodeTimeoutError(timeoutMs));
        });
      }, timeoutMs);
      const settle = (end: () => void): void => {
        clearTimeout(timer);
        if (isOver) this.#late -= 1;
        isOver = true;
        end();
      };
      send().then(
        (reply) => settle(() => resolve(reply)),
        (error: unknown) => settle(() => reject(error)),
      );
    });
  }

  async #sendVotes(requests: readonly VoteRequest[]): Promise<VoteReply[]> {
    const replies = (await quorumMutexVote.run(
      this.#redis,
      { votes: requests.map(({ keys }) => keys.vote) },
      { terms: requests.flatMap(({ member, leaseMs, isNew }) => [member, leaseMs, isNew ? '1' : '0']) },
    )) as [number, number, string][];
    return replies.map(([own, remainingMs, holder]) => ({ isOwn: own === 1, remainingMs, holder }));
  }

  async #sendWithdrawals(requests: readonly WithdrawRequest[]): Promise<boolean[]> {
    const replies = (await quorumMutexWithdraw.run(
      this.#redis,
      { votes: requests.map(({ keys }) => keys.vote) },
      {
        publish: this.#hub.publishCommand,
        leavers: requests.flatMap(({ member, isNews }) => [member, isNews ? '1' : '0']),
      },
    )) as number[];
    return replies.map((held) => held === 1);
  }
}
