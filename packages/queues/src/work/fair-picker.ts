/**
 * Divides free slots among queues and their shards. Queues compete by their weights, or strictly by their order; the shards of
 * one queue compete as equals for the slots of the queue.
 *
 * Start-time fair queueing (Goyal, Vin, Cheng, 1996): the pass of a member is its slots so far, divided by its weight. Slots go
 * to the members with the lowest pass until all are level. A member that had nothing to do starts at the pass of the others, so
 * an idle queue saves up no credit. Many slots are divided in one step, since one at a time would cost a search for each of up
 * to 10,000. Rejected: a queue picked at random by weight, which gives 12 of 16 slots to one of two equal queues in every 26th
 * round.
 */
import { requireInteger, requireObject, requireOneOf } from '@mortise/redis';
import type { Fairness } from '../options.js';

const MAX_WEIGHT = 1_000;

/** The weight of each queue; undefined for `strict`. */
export function resolveFairness(
  fairness: Fairness = 'strict',
  queues: readonly string[],
): ReadonlyMap<string, number> | undefined {
  if (fairness === 'strict') return undefined;
  if (fairness === 'rotate') return new Map(queues.map((queue) => [queue, 1]));
  if (typeof fairness === 'string') requireOneOf('fairness', fairness, ['strict', 'rotate']);
  requireObject('fairness', fairness);
  for (const queue of Object.keys(fairness)) requireOneOf('a queue in fairness', queue, queues);
  return new Map(
    queues.map((queue) => {
      const weight = Object.hasOwn(fairness, queue) ? fairness[queue] : 1;
      return [queue, requireInteger(`fairness.${queue}`, weight, { min: 1, max: MAX_WEIGHT })];
    }),
  );
}

/** The fetcher of one shard. */
export interface Contender {
  readonly queue: string;
  /** Whether the shard may hold tasks. */
  readonly hasWork: boolean;
}

interface Position {
  readonly weight: number;
  /** Slots so far, divided by the weight. */
  pass: number;
  isActive: boolean;
}

/** A smaller share is a rounding error. */
const ROUNDING_ERROR = 1e-6;

class Contention<Member> {
  readonly #positions = new Map<Member, Position>();
  readonly #contends: (member: Member) => boolean;
  /** The pass of the member that was served last. */
  #clock = 0;

  constructor(contends: (member: Member) => boolean) {
    this.#contends = contends;
  }

  get members(): Iterable<Member> {
    return this.#positions.keys();
  }

  add(member: Member, weight: number): void {
    this.#positions.set(member, { weight, pass: this.#clock, isActive: false });
  }

  /** The part of these slots that belongs to the asking member, rounded up. */
  share(asker: Member, slots: number): number {
    if (this.#positions.size === 1) return slots;
    const contending: Position[] = [];
    for (const [member, position] of this.#positions) {
      const isActive = member === asker || this.#contends(member);
      if (isActive && !position.isActive) position.pass = Math.max(position.pass, this.#clock);
      position.isActive = isActive;
      if (isActive) contending.push(position);
    }
    const { pass, weight } = this.#positions.get(asker)!;
    const share = Math.ceil((levelOf(contending, slots) - pass) * weight - ROUNDING_ERROR);
    return Math.min(slots, Math.max(0, share));
  }

  charge(member: Member, slots: number): void {
    const position = this.#positions.get(member)!;
    if (slots > 0) this.#clock = Math.max(this.#clock, position.pass);
    position.pass += slots / position.weight;
  }
}

/** The pass that all lower members would reach by dividing the slots. */
function levelOf(contending: Position[], slots: number): number {
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

export class FairPicker<Member extends Contender> {
  readonly #isStrict: boolean;
  /** In the order of the queues. */
  readonly #shards = new Map<string, Contention<Member>>();
  readonly #queues: Contention<string>;

  /** @param weights Of each queue; undefined serves them strictly by their order. */
  constructor(queues: readonly string[], weights: ReadonlyMap<string, number> | undefined) {
    this.#isStrict = weights === undefined;
    this.#queues = new Contention((queue) => this.#isContending(queue));
    for (const queue of queues) {
      this.#queues.add(queue, weights?.get(queue) ?? 1);
      this.#shards.set(queue, new Contention((member) => member.hasWork));
    }
  }

  add(member: Member): void {
    this.#shards.get(member.queue)!.add(member, 1);
  }

  /** How many of the free slots the member may have. O(1) for a single queue, otherwise O(shards of all queues). */
  share(member: Member, free: number): number {
    const { queue } = member;
    const slots = this.#isStrict ? this.#strictShare(queue, free) : this.#queues.share(queue, free);
    return slots === 0 ? 0 : this.#shards.get(queue)!.share(member, slots);
  }

  /** Counts slots that the member was given, or returned unused (negative). */
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
    for (const member of this.#shards.get(queue)!.members) if (member.hasWork) return true;
    return false;
  }
}
