/** A sorted set: the score of each member, and the members in order. Inserting moves the members after the place: O(n). */

export interface Scored {
  readonly member: string;
  readonly score: number;
}

/** An end of a range of scores or members. */
export interface Bound<Value> {
  readonly value: Value;
  readonly isOpen: boolean;
}

function compare(left: Scored, right: Scored): number {
  if (left.score !== right.score) return left.score < right.score ? -1 : 1;
  if (left.member === right.member) return 0;
  return left.member < right.member ? -1 : 1;
}

export class SortedSet {
  readonly #scores = new Map<string, number>();
  readonly #ordered: Scored[] = [];

  get size(): number {
    return this.#ordered.length;
  }

  score(member: string): number | undefined {
    return this.#scores.get(member);
  }

  set(member: string, score: number): void {
    const known = this.#scores.get(member);
    if (known === score) return;
    if (known !== undefined) this.#ordered.splice(this.#placeOf({ member, score: known }), 1);
    this.#scores.set(member, score);
    const entry = { member, score };
    const place = this.#placeOf(entry);
    if (place === this.#ordered.length) this.#ordered.push(entry);
    else this.#ordered.splice(place, 0, entry);
  }

  delete(member: string): boolean {
    const score = this.#scores.get(member);
    if (score === undefined) return false;
    this.#scores.delete(member);
    this.#ordered.splice(this.#placeOf({ member, score }), 1);
    return true;
  }

  rank(member: string): number | undefined {
    const score = this.#scores.get(member);
    return score === undefined ? undefined : this.#placeOf({ member, score });
  }

  /** The entries from one rank up to another one, without it. */
  slice(from: number, to: number): Scored[] {
    return this.#ordered.slice(from, to);
  }

  /** How many entries precede this bound of scores. */
  countBefore({ value, isOpen }: Bound<number>, isLast: boolean): number {
    return this.#search(({ score }) => score < value || (score === value && isOpen !== isLast));
  }

  /** The same for a bound of members, which all have one score. */
  countBeforeMember({ value, isOpen }: Bound<string>, isLast: boolean): number {
    return this.#search(({ member }) => member < value || (member === value && isOpen !== isLast));
  }

  #placeOf(entry: Scored): number {
    return this.#search((other) => compare(other, entry) < 0);
  }

  /** The first place whose entry isn't before. */
  #search(isBefore: (entry: Scored) => boolean): number {
    let [low, high] = [0, this.#ordered.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (isBefore(this.#ordered[middle]!)) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
