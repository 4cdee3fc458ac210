const STEP_MS = 0.01;
const STEPS = 2_000_000;

/** How many times each step has, by its number. */
export type Counts = readonly (readonly [step: number, count: number])[];

/** Counts of times in steps of 0.01 ms: an hour has too many to keep each. Longer ones than 20 s count as that. */
export class Histogram {
  readonly #counts = new Map<number, number>();
  count = 0;

  /** @param time ms */
  add(time: number): void {
    this.#addTo(Math.min(STEPS, Math.floor(time / STEP_MS)), 1);
  }

  merge(counts: Counts): void {
    for (const [step, count] of counts) this.#addTo(step, count);
  }

  counts(): Counts {
    return [...this.#counts];
  }

  /** The upper end of the step that holds the value that a share doesn't exceed (nearest rank), ms. NaN if there is none. */
  percentile(share: number): number {
    let left = Math.ceil(this.count * share);
    for (const [step, count] of [...this.#counts].toSorted(([a], [b]) => a - b)) {
      left -= count;
      if (left <= 0) return (step + 1) * STEP_MS;
    }
    return Number.NaN;
  }

  #addTo(step: number, count: number): void {
    this.#counts.set(step, (this.#counts.get(step) ?? 0) + count);
    this.count += count;
  }
}
