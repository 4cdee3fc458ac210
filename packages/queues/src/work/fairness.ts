/**
 * Who gets how many of the free slots. Queues compete by their weights, or strictly by their order; the shards of one
 * queue compete as equals for what the queue gets.
 *
 * Start-time fair queueing (Goyal, Vin, Cheng, 1996): what somebody has been given, divided by his weight, is how far he
 * has come, and slots go to whoever is behind until all are level. Who comes back after having had nothing to do starts
 * where the others are, so an idle queue saves up no credit. Many slots are divided in one step, as water finds its
 * level, since one at a time would cost a search for each of up to 10,000. Rejected: picking a queue at random by weight,
 * which gives 12 of 16 slots to one of two equal queues in every 26th round.
 */

/** What competes: a consumer of one shard. */
export interface Contender {
  readonly queue: string;
  /** It has something to take, as far as is known. */
  readonly goesFirst: boolean;
}

interface Tally {
  readonly weight: number;
  /** How far it has come: slots divided by the weight. */
  pass: number;
  isActive: boolean;
}

/** Against errors of rounding: a share of this size is none. */
const NOTHING = 1e-6;

class Contest<Member> {
  readonly #tallies = new Map<Member, Tally>();
  readonly #contends: (member: Member) => boolean;
  /** How far those have come who were served last. */
  #clock = 0;

  constructor(contends: (member: Member) => boolean) {
    this.#contends = contends;
  }

  get members(): Iterable<Member> {
    return this.#tallies.keys();
  }

  add(member: Member, weight: number): void {
    this.#tallies.set(member, { weight, pass: this.#clock, isActive: false });
  }

  /** How many of so many slots belong to the one who asks, rounded up. */
  share(asker: Member, slots: number): number {
    if (this.#tallies.size === 1) return slots;
    const contending: Tally[] = [];
    for (const [member, tally] of this.#tallies) {
      const isActive = member === asker || this.#contends(member);
      if (isActive && !tally.isActive) tally.pass = Math.max(tally.pass, this.#clock);
      tally.isActive = isActive;
      if (isActive) contending.push(tally);
    }
    const { pass, weight } = this.#tallies.get(asker)!;
    const share = Math.ceil((levelOf(contending, slots) - pass) * weight - NOTHING);
    return Math.min(slots, Math.max(0, share));
  }

  charge(member: Member, slots: number): void {
    const tally = this.#tallies.get(member)!;
    if (slots > 0) this.#clock = Math.max(this.#clock, tally.pass);
    tally.pass += slots / tally.weight;
  }
}

/** How far all would have come, who are not further already, if they divided the slots. */
function levelOf(contending: Tally[], slots: number): number {
  contending.sort((a, b) => a.pass - b.pass);
  let level = contending[0]!.pass;
  let weights = 0;
  let left = slots;
  for (const [index, { weight }] of contending.entries()) {
    weights += weight;
    const next = contending[index + 1]?.pass ?? Infinity;
    const cost = (next - level) * weights;
    if (cost >= left) break;
    left -= cost;
    level = next;
  }
  return level + left / weights;
}

export class FairShares<Member extends Contender> {
  readonly #isStrict: boolean;
  /** In the order in which they are served when that is strict. */
  readonly #shards = new Map<string, Contest<Member>>();
  readonly #queues: Contest<string>;

  /** @param weights Of each queue; undefined serves them strictly by their order. */
  constructor(queues: readonly string[], weights: ReadonlyMap<string, number> | undefined) {
    this.#isStrict = weights === undefined;
    this.#queues = new Contest((queue) => this.#isContending(queue));
    for (const queue of queues) {
      this.#queues.add(queue, weights?.get(queue) ?? 1);
      this.#shards.set(queue, new Contest((member) => member.goesFirst));
    }
  }

  add(member: Member): void {
    this.#shards.get(member.queue)!.add(member, 1);
  }

  /** How many of the free slots the one who asks may have. O(1) for a queue alone; else O(shards of all queues). */
  share(asker: Member, free: number): number {
    const { queue } = asker;
    const slots = this.#isStrict ? this.#strictShare(queue, free) : this.#queues.share(queue, free);
    return slots === 0 ? 0 : this.#shards.get(queue)!.share(asker, slots);
  }

  /** So many were given, or with a minus: came back unused. */
  charge(member: Member, slots: number): void {
    if (slots === 0) return;
    this.#queues.charge(member.queue, slots);
    this.#shards.get(member.queue)!.charge(member, slots);
  }

  #strictShare(queue: string, free: number): number {
    for (const earlier of this.#shards.keys()) {
      if (earlier === queue) break;
      if (this.#isContending(earlier)) return 0;
    }
    return free;
  }

  #isContending(queue: string): boolean {
    for (const member of this.#shards.get(queue)!.members) if (member.goesFirst) return true;
    return false;
  }
}
