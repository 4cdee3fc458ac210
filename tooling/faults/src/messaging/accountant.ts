/**
 * Accounts for every message of a run: the replies to senders and the messages of each member. All members see the same
 * messages under the same ids, one after the other, whatever was done to processes, Redis and the network. Every
 * difference is a violation.
 */
import type { Accepted, ActorRecord, Delivered } from './records.js';

export type Rule =
  /** Accepted, and a member has never got it. */
  | 'lost'
  /** The same post under two ids. */
  | 'doubled'
  /** Two messages under one id, or another message than the reply to its sender said. */
  | 'contradiction'
  /** A member got a message before the one before it. */
  | 'skipped'
  /** Somebody who follows got a message again. */
  | 'repeated'
  /** A member got a message again that they had acked: their cursor went back. */
  | 'returned'
  /** Messages of one sender in another order than they were posted. */
  | 'reordered'
  /** A gap, a reset or a refusal that nothing explains. */
  | 'noted';

interface Violation {
  readonly rule: Rule;
  readonly details: string;
}

/** An interval, in µs, in which something was done to Redis or the network. */
export interface Fault {
  readonly from: number;
  readonly to: number;
  /** Replication is asynchronous: what was accepted or delivered in it may be gone. */
  readonly mayForget: boolean;
}

/** The records of one process. */
export interface Testimony {
  readonly member: string;
  /** A follower never gets a message twice; a member that pulls may, until it acks. */
  readonly isFollower: boolean;
  readonly records: readonly ActorRecord[];
}

export interface Account {
  readonly violations: readonly Violation[];
  readonly accepted: number;
  /** Accepted by a call whose message was there already: the first reply was lost, or its process was killed. */
  readonly repeatedPosts: number;
  readonly delivered: number;
  /** Messages that were pulled again without an ack of them. */
  readonly pulledAgain: number;
  /** Accepted in the moment before a master was replaced, and gone. */
  readonly forgotten: number;
}

const MAX_VIOLATIONS = 20;

export function account(
  senders: readonly Testimony[],
  readers: readonly Testimony[],
  faults: readonly Fault[] = [],
): Account {
  return new Accountant(senders, readers, faults).account();
}

class Accountant {
  readonly #violations: Violation[] = [];
  /** The message of each id: `chat id` to `from n`. */
  readonly #truth = new Map<string, string>();
  readonly #idOf = new Map<string, number>();
  /** Posts that somebody has got, under whatever id. */
  readonly #seen = new Set<string>();
  #delivered = 0;
  #pulledAgain = 0;

  constructor(
    readonly senders: readonly Testimony[],
    readonly readers: readonly Testimony[],
    readonly faults: readonly Fault[],
  ) {}

  account(): Account {
    const got = new Map(this.readers.map((reader) => [reader.member, this.#read(reader)]));
    let accepted = 0;
    let repeatedPosts = 0;
    let forgotten = 0;
    for (const { member, records } of this.senders) {
      this.#lookAtNotes(member, records);
      for (const record of records) {
        if (record.type !== 'accepted') continue;
        accepted += 1;
        repeatedPosts += Number(record.isDuplicate);
        if (this.#isForgiven(record.at)) {
          forgotten += Number(!this.#seen.has(`${record.chat} ${member} ${record.n}`));
          continue;
        }
        this.#lookAtPost(member, record, got);
      }
    }
    return {
      violations: this.#violations,
      accepted,
      repeatedPosts,
      delivered: this.#delivered,
      pulledAgain: this.#pulledAgain,
      forgotten,
    };
  }

  /** The messages that a reader has: keys `chat id`. */
  #read({ member, isFollower, records }: Testimony): Set<string> {
    this.#lookAtNotes(member, records);
    const got = new Set<string>();
    const lastIds = new Map<string, number>();
    const lastNumbers = new Map<string, number>();
    const ackedIds = new Map<string, number>();
    /** When the message before came from each chat: on a busy machine, a loss that a reader meets late shows after it. */
    const lastAt = new Map<string, number>();
    for (const record of records) {
      if (record.type === 'acked' && !this.#isForgiven(record.at)) {
        ackedIds.set(record.chat, Math.max(record.id, ackedIds.get(record.chat) ?? 0));
      }
      if (record.type !== 'delivered') continue;
      this.#delivered += 1;
      const { chat, id, from, n, at } = record;
      const key = `${chat} ${id}`;
      const isForgiven = this.#isForgiven(lastAt.get(chat) ?? at, at);
      lastAt.set(chat, at);
      this.#seen.add(`${chat} ${from} ${n}`);
      if (!isForgiven) this.#lookAtContent(record, member);
      const ackedId = ackedIds.get(chat) ?? 0;
      if (id <= ackedId && !isForgiven)
        this.#violate('returned', `${member} got ${id} again, having acked ${ackedId} in ${chat}`);
      const lastId = lastIds.get(chat) ?? id - 1;
      if (id > lastId) {
        if (id > lastId + 1 && !isForgiven)
          this.#violate('skipped', `${member} got ${id} after ${lastId} in ${chat}`);
        lastIds.set(chat, id);
        const lastNumber = lastNumbers.get(`${chat} ${from}`) ?? 0;
        if (n <= lastNumber && !isForgiven) {
          this.#violate('reordered', `${member} got message ${n} of ${from} after ${lastNumber} in ${chat}`);
        }
        lastNumbers.set(`${chat} ${from}`, n);
      } else if (isForgiven) {
        // All senders may go back with the chat.
        for (const known of lastNumbers.keys()) if (known.startsWith(`${chat} `)) lastNumbers.delete(known);
        lastIds.set(chat, id);
        lastNumbers.set(`${chat} ${from}`, n);
      } else if (isFollower) {
        this.#violate('repeated', `${member} got ${id} after ${lastId} in ${chat}`);
      } else {
        this.#pulledAgain += 1;
        if (!got.has(key)) this.#violate('skipped', `${member} got ${id} only after ${lastId} in ${chat}`);
      }
      got.add(key);
    }
    return got;
  }

  #lookAtContent({ chat, id, from, n }: Delivered, member: string): void {
    const key = `${chat} ${id}`;
    const post = `${chat} ${from} ${n}`;
    const known = this.#truth.get(key);
    if (known !== undefined && known !== post) {
      this.#violate('contradiction', `${member} got ${post} as ${id}, others ${known}`);
    }
    this.#truth.set(key, post);
    const other = this.#idOf.get(post);
    if (other !== undefined && other !== id)
      this.#violate('doubled', `${post} is there as ${other} and as ${id}`);
    this.#idOf.set(post, id);
  }

  #lookAtPost(
    member: string,
    { chat, n, id }: Accepted,
    got: ReadonlyMap<string, ReadonlySet<string>>,
  ): void {
    const key = `${chat} ${id}`;
    const post = `${chat} ${member} ${n}`;
    const known = this.#truth.get(key);
    if (known !== undefined && known !== post) {
      this.#violate(
        'contradiction',
        `${member} got id ${id} for message ${n}, and ${known} was got as ${id}`,
      );
    }
    for (const [reader, keys] of got) {
      if (!keys.has(key))
        this.#violate('lost', `${reader} never got message ${n} of ${member}, ${id} in ${chat}`);
    }
  }

  #lookAtNotes(member: string, records: readonly ActorRecord[]): void {
    const lastAt = new Map<string, number>();
    for (const record of records) {
      if (record.type === 'delivered') lastAt.set(record.chat, record.at);
      if (record.type !== 'noted') continue;
      const { at, what } = record;
      const chat = [...lastAt.keys()].find((one) => what.split(/[ ,]+/).includes(one));
      const since = chat === undefined ? at : lastAt.get(chat)!;
      if (!this.#isForgiven(since, at)) this.#violate('noted', `${member}: ${what}`);
    }
  }

  /** Whether a loss touches the time from `since` to `at`. */
  #isForgiven(since: number, at = since): boolean {
    return this.faults.some(({ from, to, mayForget }) => mayForget && from <= at && since <= to);
  }

  #violate(rule: Rule, details: string): void {
    if (this.#violations.length < MAX_VIOLATIONS) this.#violations.push({ rule, details });
  }
}
