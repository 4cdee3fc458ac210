/**
 * Acquires a majority of votes from all nodes. If another member has a majority, it waits until votes are given back. If
 * nobody has one, it tries again after a random, growing pause, so that one candidate is eventually alone.
 *
 * Rejected: queues on the nodes. The nodes don't agree on an order, so the heads of their queues would block each other,
 * and a restarted node forgets its queue.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { waitFor } from '@mortise/redis';
import type { PendingGrant } from '../acquire/acquire.js';
import type { Grant } from '../acquire/acquisition.js';
import type { LockClient } from '../acquire/lock-client.js';
import { memberOf } from '../acquire/single-lock-request.js';
import type { QuorumTerms } from './candidate.js';
import { Candidate, driftOf, unreachable } from './candidate.js';
import type { VoteCount } from './count-votes.js';
import { majorityOf } from './count-votes.js';
import type { LocalQueue } from './local-queue.js';
import type { VoteReply } from './quorum-node.js';
import { ReleaseListener } from './release-listener.js';

export interface QuorumGrant extends Grant {
  readonly candidate: Candidate;
}

/** A lost message delays a waiter by at most this. */
const RECHECK_MS = 1_000;
/** The first random pause of candidates that were woken together, or that split the votes. It doubles with each split. */
const JITTER_MS = 8;
const MAX_JITTER_MS = 512;

export class QuorumAcquisition implements PendingGrant<QuorumGrant> {
  readonly waitsFor: string;
  readonly granted: Promise<QuorumGrant>;
  readonly #client: LockClient;
  readonly #terms: QuorumTerms;
  readonly #exitQueue: () => void;
  #listener: ReleaseListener | undefined;
  #candidate: Candidate | undefined;
  #failure: unknown;
  #hasLeft = false;
  #left: Promise<void> | undefined;

  constructor(client: LockClient, terms: QuorumTerms, queue: LocalQueue) {
    this.#client = client;
    this.#terms = terms;
    this.waitsFor = terms.name;
    let begin!: () => void;
    const isFirst = new Promise<void>((resolve) => {
      begin = resolve;
    });
    this.#exitQueue = queue.enter(begin);
    this.granted = isFirst.then(() => this.#run());
  }

  /** A QuorumUnreachableError if too few nodes replied to the last request. */
  get failure(): unknown {
    return this.#failure;
  }

  leave(): Promise<void> {
    this.#left ??= this.#leave();
    return this.#left;
  }

  async #leave(): Promise<void> {
    this.#hasLeft = true;
    this.#listener?.close();
    this.#exitQueue();
    await this.#candidate?.withdraw(true);
  }

  async #run(): Promise<QuorumGrant> {
    let failures = 0;
    try {
      for (;;) {
        this.#listener?.reset();
        const { grant, count } = await requestOnce(this.#client, this.#terms, (candidate) => {
          this.#candidate = candidate;
        });
        if (grant) return grant;
        this.#candidate = undefined;
        if (this.#hasLeft) throw new Error('the caller has left');
        this.#failure = count.isLost || count.isWon ? undefined : unreachable(this.#terms.name, count);
        this.#giveUpIfClosed();
        if (!this.#listener) {
          // The next request finds votes that were given back before the subscription.
          await this.#listen();
        } else if (count.isLost && this.#isHeldByOther(count)) {
          failures = 0;
          await this.#listener.nextRelease(Math.min(RECHECK_MS, this.#freeInMs(count)));
          await pause(Math.random() * JITTER_MS);
        } else {
          await pause(Math.random() * Math.min(MAX_JITTER_MS, JITTER_MS * 2 ** failures));
          failures += 1;
        }
        if (this.#hasLeft) throw new Error('the caller has left');
      }
    } finally {
      this.#listener?.close();
      this.#exitQueue();
    }
  }

  async #listen(): Promise<void> {
    const { nodes, keys, nodeTimeoutMs } = this.#terms;
    this.#listener = new ReleaseListener(nodes, keys.updates, this.#client.nextId());
    await waitFor(this.#listener.opened, { waitMs: nodeTimeoutMs });
  }

  /** Whether another member has a majority. */
  #isHeldByOther({ replies }: VoteCount<VoteReply>): boolean {
    const votes = new Map<string, number>();
    for (const reply of replies) {
      if (reply && !reply.isOwn) votes.set(reply.holder, (votes.get(reply.holder) ?? 0) + 1);
    }
    return Math.max(...votes.values()) >= majorityOf(replies.length);
  }

  /** When the votes of a majority expire if nobody renews them. */
  #freeInMs({ replies }: VoteCount<VoteReply>): number {
    const ends = replies
      .map((reply) => (reply?.isOwn ? 0 : (reply?.remainingMs ?? Infinity)))
      .toSorted((a, b) => a - b);
    return Math.max(1, ends[majorityOf(replies.length) - 1]!);
  }

  #giveUpIfClosed(): void {
    const { nodes } = this.#terms;
    const open = nodes.filter((node) => !node.isClosed).length;
    if (this.#failure && open < majorityOf(nodes.length)) throw this.#failure;
  }
}

/** Requests votes from all nodes once. Without a majority, it gives them back on all nodes. */
export async function requestOnce(
  client: LockClient,
  terms: QuorumTerms,
  onBegin?: (candidate: Candidate) => void,
): Promise<{ grant: QuorumGrant | null; count: VoteCount<VoteReply> }> {
  const { leaseMs, driftFactor } = terms;
  // A new member for each request, so that a late reply or withdrawal of an earlier one does not count for this one.
  const member = memberOf(client, client.nextId(terms.owner), terms);
  const candidate = new Candidate(terms, member, true);
  onBegin?.(candidate);
  const startsAt = performance.now() - driftOf(leaseMs, driftFactor);
  const count = await candidate.requestVotes();
  if (count.isWon && performance.now() < startsAt + leaseMs) {
    return { grant: { candidate, member, fencingToken: 0, startsAt, termMs: leaseMs }, count };
  }
  void candidate.withdraw(count.isWon);
  return { grant: null, count };
}
