/**
 * A member and its votes on all nodes. It requests votes from the nodes in parallel, each with a time limit. A vote that
 * arrives after the candidate withdrew is given back, however late.
 */
import type { RenewReply } from '../acquire/gate.js';
import { QuorumUnreachableError } from '../errors.js';
import type { QuorumMutexKeys } from '../keys.js';
import type { LockTelemetry } from '../telemetry/lock-telemetry.js';
import type { VoteCount } from './count-votes.js';
import { countVotes, majorityOf } from './count-votes.js';
import type { QuorumNode, VoteReply } from './quorum-node.js';

export interface QuorumTerms {
  readonly name: string;
  readonly nodes: readonly QuorumNode[];
  readonly keys: QuorumMutexKeys;
  readonly leaseMs: number;
  /** Maximum time for which background renewals keep a lease. */
  readonly renewForMs: number;
  readonly owner: string | undefined;
  readonly nodeTimeoutMs: number;
  readonly driftFactor: number;
  readonly telemetry: LockTelemetry | undefined;
}

/** The resolution of both clocks, and of the ends of leases in Redis. */
const CLOCK_GRAIN_MS = 2;

/** How much earlier a lease may end on the fastest clock than on the slowest one. */
export function driftOf(leaseMs: number, driftFactor: number): number {
  return leaseMs * driftFactor + CLOCK_GRAIN_MS;
}

/** The error for too few replies of nodes. */
export function unreachable(name: string, { causes, replies }: VoteCount<unknown>): QuorumUnreachableError {
  return new QuorumUnreachableError(name, replies.length, majorityOf(replies.length), causes);
}

export class Candidate {
  readonly member: string;
  readonly #terms: QuorumTerms;
  /** Nodes that may have given their votes. */
  readonly #requested: Set<QuorumNode>;
  /** Votes on their way. */
  readonly #votes = new Map<QuorumNode, Promise<unknown>>();
  #hasWithdrawn = false;

  /** @param isNew Whether no node knows the member yet. */
  constructor(terms: QuorumTerms, member: string, isNew: boolean) {
    this.#terms = terms;
    this.member = member;
    this.#requested = new Set(isNew ? [] : terms.nodes);
  }

  /** Requests the votes of all nodes. */
  requestVotes(): Promise<VoteCount<VoteReply>> {
    return countVotes(this.#request(this.#terms.leaseMs, true, this.#terms.nodes), isOwn);
  }

  /** Extends the lease on a majority. Rejects if too few nodes replied to decide. */
  async renew(_: unknown, termMs: number): Promise<RenewReply> {
    const { name, nodes, leaseMs, driftFactor } = this.#terms;
    // For the last renewal before `maxHoldMs`, the nodes give a lease that is longer by the drift.
    const roomyMs = termMs + Math.ceil(driftOf(leaseMs, driftFactor));
    const givenMs = termMs < leaseMs ? Math.min(leaseMs, roomyMs) : termMs;
    const sentAt = performance.now() + Math.min(0, givenMs - driftOf(givenMs, driftFactor) - termMs);
    const requests = this.#request(givenMs, false, nodes);
    const count = await countVotes(requests, isOwn);
    if (!count.isWon && !count.isLost) throw unreachable(name, count);
    if (count.isWon) {
      for (const [index, request] of requests.entries()) void this.#regain(nodes[index]!, request, givenMs);
    }
    return { isHeld: count.isWon, sentAt };
  }

  /** Gives all votes back and notifies the waiters. Rejects if too few nodes replied to tell whether it had a majority. */
  async release(): Promise<boolean> {
    const count = await this.withdraw(true);
    if (!count.isWon && !count.isLost) throw unreachable(this.#terms.name, count);
    return count.isWon;
  }

  /** Gives all votes back, also those of nodes whose reply it doesn't await. */
  withdraw(notifies: boolean): Promise<VoteCount<boolean>> {
    const { nodes, keys, nodeTimeoutMs } = this.#terms;
    const request = { keys, member: this.member, notifies };
    this.#hasWithdrawn = true;
    const requests = nodes.map((node) => {
      if (!this.#requested.has(node)) return Promise.resolve(false);
      const send = (): Promise<boolean> => node.withdraw(request);
      const reply = this.#votes.get(node)?.then(send, send) ?? send();
      // Without a connection nothing can be given back: the lease expires.
      reply.catch(() => undefined);
      return node.limit(() => reply, nodeTimeoutMs);
    });
    return countVotes(requests, Boolean);
  }

  /** Takes a free vote of a node that was restarted or unreachable, as a reserve for the next node that fails. */
  async #regain(node: QuorumNode, request: Promise<VoteReply>, leaseMs: number): Promise<void> {
    try {
      const { holder } = await request;
      if (holder === '' && !this.#hasWithdrawn) await Promise.all(this.#request(leaseMs, true, [node]));
    } catch {
      // The next renewal tries again.
    }
  }

  #request(leaseMs: number, isNew: boolean, nodes: readonly QuorumNode[]): Promise<VoteReply>[] {
    const { keys, nodeTimeoutMs } = this.#terms;
    return nodes.map((node) =>
      node.limit(() => {
        const vote = node.vote({ keys, member: this.member, leaseMs, isNew });
        this.#requested.add(node);
        this.#votes.set(node, vote);
        const forget = (): void => {
          if (this.#votes.get(node) === vote) this.#votes.delete(node);
        };
        vote.then(forget, forget);
        return vote;
      }, nodeTimeoutMs),
    );
  }
}

function isOwn(reply: VoteReply): boolean {
  return reply.isOwn;
}
