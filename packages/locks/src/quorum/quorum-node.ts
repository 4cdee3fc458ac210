/** One of the independent servers of a quorum. Requests of one tick for locks of one slot share a script call. */
import type { RedisClient, Waiter } from '@mortise/redis';
import { Coalescer, isClosed, perClient, TIMED_OUT, WaiterHub, waitFor } from '@mortise/redis';
import { MAX_BATCH } from '../acquire/gate.js';
import type { QuorumMutexKeys } from '../keys.js';
import { quorumMutexInspect, quorumMutexVote, quorumMutexWithdraw } from '../scripts.gen.js';

export interface VoteReply {
  readonly isOwn: boolean;
  /** Negative: the vote is free. */
  readonly remainingMs: number;
  /** '' for a free vote. */
  readonly holder: string;
}

export interface VoteRequest {
  readonly keys: QuorumMutexKeys;
  readonly member: string;
  readonly leaseMs: number;
  /** Whether to take a free vote, or only to extend the member's own. */
  readonly isNew: boolean;
}

export interface WithdrawRequest {
  readonly keys: QuorumMutexKeys;
  readonly member: string;
  /** Whether to notify the waiters. */
  readonly notifies: boolean;
}

export class QuorumNode {
  /** The node of a client, always the same object. */
  static readonly of = /* @__PURE__ */ perClient((client) => new QuorumNode(client));
  readonly #redis: RedisClient;
  readonly #hub: WaiterHub;
  readonly #votes = new Coalescer<number, VoteRequest, VoteReply>(
    (_, requests) => this.#sendVotes(requests),
    { maxBatch: MAX_BATCH },
  );
  readonly #withdrawals = new Coalescer<number, WithdrawRequest, boolean>(
    (_, requests) => this.#sendWithdrawals(requests),
    { maxBatch: MAX_BATCH },
  );
  /** Number of requests without a reply in time. */
  #overdue = 0;

  private constructor(redis: RedisClient) {
    this.#redis = redis;
    this.#hub = WaiterHub.of(redis);
  }

  /** Whether the owner has closed the client, so that no reply can come. */
  get isClosed(): boolean {
    return isClosed(this.#redis);
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

  /** An inbox on a channel of this node. */
  waiter(channel: string, id: string): Promise<Waiter> {
    return this.#hub.waiter(channel, id);
  }

  /**
   * The result of `send`, if it arrives in time. A node with an overdue reply gets no further requests: a client without a
   * connection queues its commands, and they would pile up.
   */
  async limit<Reply>(send: () => Promise<Reply>, timeoutMs: number): Promise<Reply> {
    const late = new Error(`the node did not reply within ${timeoutMs} ms`);
    if (this.#overdue > 0) throw late;
    const reply = send();
    const inTime = await waitFor(reply, { waitMs: timeoutMs });
    if (inTime !== TIMED_OUT) return inTime;
    const onReply = (): void => void (this.#overdue -= 1);
    this.#overdue += 1;
    reply.then(onReply, onReply);
    throw late;
  }

  async #sendVotes(requests: readonly VoteRequest[]): Promise<VoteReply[]> {
    const replies = (await quorumMutexVote.run(
      this.#redis,
      { votes: requests.map(({ keys }) => keys.vote) },
      { requests: requests.flatMap(({ member, leaseMs, isNew }) => [member, leaseMs, isNew ? '1' : '0']) },
    )) as [number, number, string][];
    return replies.map(([own, remainingMs, holder]) => ({ isOwn: own === 1, remainingMs, holder }));
  }

  async #sendWithdrawals(requests: readonly WithdrawRequest[]): Promise<boolean[]> {
    const replies = (await quorumMutexWithdraw.run(
      this.#redis,
      { votes: requests.map(({ keys }) => keys.vote) },
      {
        publish: this.#hub.publishCommand,
        withdrawals: requests.flatMap(({ member, notifies }) => [member, notifies ? '1' : '0']),
      },
    )) as number[];
    return replies.map((held) => held === 1);
  }
}
