/**
 * One caller's way to a majority: ask all nodes; when somebody else has a majority, wait until votes are given back; when
 * nobody has one, try again after a random pause that grows, so that one candidate is alone at last.
 *
 * Rejected: queues on the nodes. They don't agree on an order, so their heads would block each other, and the place in
 * a queue of a node that was restarted means nothing.
 */
import type { Contender } from '../waiting/contender.js';
import type { Grant } from '../waiting/turn.js';
import { memberOf } from '../waiting/turn.js';
import type { Attempt } from '../waiting/acquire.js';
import type { Ballot } from './ballot.js';
import { majorityOf } from './ballot.js';
import { Bell } from './bell.js';
import type { QuorumTerms } from './candidacy.js';
import { Candidacy, driftOf, unreachable } from './candidacy.js';
import type { LocalLine } from './local-line.js';
import type { VoteReply } from './quorum-node.js';

export interface QuorumGrant extends Grant {
  readonly candidacy: Candidacy;
}

/** The last lost message is made up for within this. */
const RECHECK_MS = 1_000;
/** The first random pause of candidates that were woken together, or that split the votes; it doubles with each split. */
const JITTER_MS = 8;
const MAX_JITTER_MS = 512;

export class QuorumTurn implements Attempt<QuorumGrant> {
  readonly waitsFor: string;
  readonly granted: Promise<QuorumGrant>;
  readonly #contender: Contender;
  readonly #terms: QuorumTerms;
  readonly #exit: () => void;
  #bell: Bell | undefined;
  #candidacy: Candidacy | undefined;
  #failure: unknown;
  #hasLeft = false;

  constructor(contender: Contender, terms: QuorumTerms, line: LocalLine) {
    this.#contender = contender;
    this.#terms = terms;
    this.waitsFor = terms.name;
    let begin!: () => void;
    const isFirst = new Promise<void>((resolve) => {
      begin = resolve;
    });
    this.#exit = line.enter(begin);
    this.granted = isFirst.then(() => this.#run());
  }

  /** A QuorumUnreachableError if the last ask reached no majority. */
  get failure(): unknown {
    return this.#failure;
  }

  leave(): void {
    if (this.#hasLeft) return;
    this.#hasLeft = true;
    this.#bell?.close();
    this.#exit();
    void this.#candidacy?.withdraw(true);
  }

  async #run(): Promise<QuorumGrant> {
    let failures = 0;
    try {
      for (;;) {
        this.#bell?.hush();
        const { grant, ballot } = await stand(this.#contender, this.#terms, (candidacy) => {
          this.#candidacy = candidacy;
        });
        if (grant) return grant;
        this.#candidacy = undefined;
        if (this.#hasLeft) throw new Error('the caller has left');
        this.#failure = ballot.isLost || ballot.isWon ? undefined : unreachable(this.#terms.name, ballot);
        this.#giveUpIfClosed();
        if (!this.#bell) {
          // What is given back from now on is heard; what was given back before is found by asking again.
          await this.#listen();
        } else if (ballot.isLost && this.#isElsewhere(ballot)) {
          failures = 0;
          await this.#bell.heard(Math.min(RECHECK_MS, this.#freeInMs(ballot)));
          await pause(Math.random() * JITTER_MS);
        } else {
          await pause(Math.random() * Math.min(MAX_JITTER_MS, JITTER_MS * 2 ** failures));
          failures += 1;
        }
        if (this.#hasLeft) throw new Error('the caller has left');
      }
    } finally {
      this.#bell?.close();
      this.#exit();
    }
  }

  async #listen(): Promise<void> {
    const { nodes, keys, nodeTimeoutMs } = this.#terms;
    this.#bell = new Bell(nodes, keys.news, this.#contender.nextTurn());
    await Promise.race([this.#bell.opened, pause(nodeTimeoutMs)]);
  }

  /** Whether one other has a majority. */
  #isElsewhere({ replies }: Ballot<VoteReply>): boolean {
    const votes = new Map<string, number>();
    for (const reply of replies) {
      if (reply && !reply.isOwn) votes.set(reply.holder, (votes.get(reply.holder) ?? 0) + 1);
    }
    return Math.max(...votes.values()) >= majorityOf(replies.length);
  }

  /** When a majority is free if nobody renews. */
  #freeInMs({ replies }: Ballot<VoteReply>): number {
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

/** Asks all nodes once. What a lock that was not won has of votes is given back, on all nodes. */
export async function stand(
  contender: Contender,
  terms: QuorumTerms,
  onBegin?: (candidacy: Candidacy) => void,
): Promise<{ grant: QuorumGrant | null; ballot: Ballot<VoteReply> }> {
  const { leaseMs, driftFactor } = terms;
  // An answer to an earlier vote must not be taken for one to this, nor its withdrawal take this back.
  const member = memberOf(contender, contender.nextTurn(), terms);
  const candidacy = new Candidacy(terms, member, true);
  onBegin?.(candidacy);
  const startsAt = performance.now() - driftOf(leaseMs, driftFactor);
  const ballot = await candidacy.vote();
  if (ballot.isWon && performance.now() < startsAt + leaseMs) {
    return { grant: { candidacy, member, fencingToken: 0, startsAt, termMs: leaseMs }, ballot };
  }
  void candidacy.withdraw(ballot.isWon);
  return { grant: null, ballot };
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}
