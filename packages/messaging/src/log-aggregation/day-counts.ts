/** The unflushed lines of a day, by place: a counter of 4 bytes for each place of the table. */
export class DayCounts {
  readonly counts: Uint32Array;
  /** Its first `touchedCount` entries are the places whose counters aren't 0. */
  readonly touched: Uint32Array;
  touchedCount = 0;
  lines = 0;

  /**
   * @param key 20261120
   * @param countedTo Lines that end at this offset of the file, or before it, are counted already.
   */
  constructor(
    readonly key: number,
    places: number,
    public countedTo: number,
  ) {
    this.counts = new Uint32Array(places);
    this.touched = new Uint32Array(places);
  }

  /** `2026-11-20` */
  get day(): string {
    return dayOf(this.key);
  }

  /** Counts a line for each of the first `count` places. Returns for how many of them it is the first line. */
  add(places: Uint32Array, count: number): number {
    const { counts, touched } = this;
    const touchedBefore = this.touchedCount;
    let touchedCount = touchedBefore;
    for (let index = 0; index < count; index += 1) {
      const place = places[index]!;
      const before = counts[place]!;
      counts[place] = before + 1;
      if (before === 0) touched[touchedCount++] = place;
    }
    this.touchedCount = touchedCount;
    this.lines += count;
    return touchedCount - touchedBefore;
  }

  clear(): void {
    for (let index = 0; index < this.touchedCount; index += 1) this.counts[this.touched[index]!] = 0;
    this.touchedCount = 0;
    this.lines = 0;
  }
}

/** 20261120 -> `2026-11-20` */
export function dayOf(key: number): string {
  const digits = String(key).padStart(8, '0');
  return `${digits.slice(0, 4)}-${digits.slice(4, 6)}-${digits.slice(6)}`;
}
