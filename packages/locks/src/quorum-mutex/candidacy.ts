/**
 * One member and its votes on all nodes. Nodes are asked in parallel, each with its time limit. A vote that is still under
 * way when the member leaves is taken back when it is answered, however late that is.
 */
import { QuorumUnreachableError } from '../errors.js';
import type { QuorumMutexKeys } from '../keys.js';
import type { RenewReply } from '../waiting/gate.js';
import type { Ballot } from './ballot.js';
import { count, majorityOf } from './ballot.js';
import type { QuorumNode, VoteReply } from './quorum-node.js';

export interface QuorumTerms {
  readonly name: string;
  readonly nodes: readonly QuorumNode[];
  readonly keys: QuorumMutexKeys;
  readonly leaseMs: number;
  /** How long background renewals keep a lease. */
  readonly keepMs: number;
  readonly nodeTimeoutMs: number;
  readonly driftFactor: number;
}

/** Redis ends leases to the ms, and its clock and ours are read to the ms. */
const CLOCK_GRAIN_MS = 2;

/** How much earlier than on the slowest clock a lease may end on the fastest one. */
export function driftOf(leaseMs: number, driftFactor: number): number {
  return leaseMs * driftFactor + CLOCK_GRAIN_MS;
}

/** Nodes that did not answer kept the members from a majority. */
export function unreachable(name: string, { causes, replies }: Ballot<unknown>): QuorumUnreachableError {
  return new QuorumUnreachableError(name, replies.length, majorityOf(replies.length), causes);
}

export class Candidacy {
  readonly member: string;
  readonly #terms: QuorumTerms;
  /** Nodes that may have given their votes. */
  readonly #asked: Set<QuorumNode>;
  /** Votes that are under way. */
  readonly #votes = new Map<QuorumNode, Promise<unknown>>();
  #hasLeft = false;

  /** @param isNew Whether no node knows the member yet. */
  constructor(terms: QuorumTerms, member: string, isNew: boolean) {
    this.#terms = terms;
    this.member = member;
    this.#asked = new Set(isNew ? [] : terms.nodes);
  }

  /** Asks all nodes for their votes. */
  vote(): Promise<Ballot<VoteReply>> {
    return count(this.#ask(this.#terms.leaseMs, true, this.#terms.nodes), isOwn);
  }

  /** Lengthens what a majority has to lengthen. Rejects when too few nodes answered to know whether it did. */
  async renew(_: unknown, termMs: number): Promise<RenewReply> {
    const { name, nodes, leaseMs, driftFactor } = this.#terms;
    // The last renewal before `maxHoldMs` has room for the drift in the lease that the nodes give.
    const roomyMs = termMs + Math.ceil(driftOf(leaseMs, driftFactor));
    const givenMs = termMs < leaseMs ? Math.min(leaseMs, roomyMs) : termMs;
    const sentAt = performance.now() + Math.min(0, givenMs - driftOf(givenMs, driftFactor) - termMs);
    const asks = this.#ask(givenMs, false, nodes);
    const ballot = await count(asks, isOwn);
    if (!ballot.isWon && !ballot.isLost) throw unreachable(name, ballot);
    if (ballot.isWon)
      for (const [index, ask] of asks.entries()) void this.#regain(nodes[index]!, ask, givenMs);
    return { isHeld: ballot.isWon, sentAt };
  }

  /** Gives all votes back and tells those who wait. Rejects when too few nodes answered to know whether it had a majority. */
  async release(): Promise<boolean> {
    const ballot = await this.withdraw(true);
    if (!ballot.isWon && !ballot.isLost) throw unreachable(this.#terms.name, ballot);
    return ballot.isWon;
  }

  /** Gives back what was given, also by nodes that are not waited for. */
  withdraw(isNews: boolean): Promise<Ballot<boolean>> {
    const { nodes, keys, nodeTimeoutMs } = this.#terms;
    const request = { keys, member: this.member, isNews };
    this.#hasLeft = true;
    const asks = nodes.map((node) => {
      if (!this.#asked.has(node)) return Promise.resolve(false);
      const send = (): Promise<boolean> => node.withdraw(request);
      const reply = this.#votes.get(node)?.then(send, send) ?? send();
      // Without a connection nothing can be given back: the lease runs out by itself.
      reply.catch(() => undefined);
      return node.ask(() => reply, nodeTimeoutMs);
    });
    return count(asks, Boolean);
  }

  /** A free vote of a node that was restarted, or unreachable at first, makes up for the next node that fails. */
  async #regain(node: QuorumNode, ask: Promise<VoteReply>, leaseMs: number): Promise<void> {
    try {
      const { holder } = await ask;
      if (holder === '' && !this.#hasLeft) await Promise.all(this.#ask(leaseMs, true, [node]));
    } catch {
      // The next renewal tries again.
    }
  }

  #ask(leaseMs: number, isNew: boolean, nodes: readonly QuorumNode[]): Promise<VoteReply>[] {
    const { keys, nodeTimeoutMs } = this.#terms;
    return nodes.map((node) =>
      node.ask(() => {
        const vote = node.vote({ keys, member: this.member, leaseMs, isNew });
        this.#asked.add(node);
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
