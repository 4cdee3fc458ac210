/** Why a line was not counted. */
export const REASONS = {
  address: 'the first field is not an address',
  date: 'the second field is not a day of the calendar',
  time: 'the third field is not a time',
  fields: 'there are fewer than four fields',
  length: 'the line is longer than it may be',
  window: 'the day is older than maxAgeMs, or in the future',
} as const;

export type Reason = keyof typeof REASONS;

export interface MalformedSample {
  readonly reason: Reason;
  /** Where the line begins in the file. */
  readonly offset: number;
  /** Its first bytes; those that are not UTF-8 are replaced. */
  readonly text: string;
}

const SAMPLES_OF_REASON = 3;
const SAMPLE_BYTES = 120;

/** Lines of a file that could not be counted: how many for each reason, and the first ones of each. */
export class MalformedLines {
  readonly counts: Record<Reason, number> = { address: 0, date: 0, time: 0, fields: 0, length: 0, window: 0 };
  readonly samples: MalformedSample[] = [];

  get total(): number {
    return Object.values(this.counts).reduce((sum, count) => sum + count, 0);
  }

  add(reason: Reason, bytes: Uint8Array, start: number, end: number, base: number): void {
    this.counts[reason] += 1;
    if (this.counts[reason] > SAMPLES_OF_REASON) return;
    const text = Buffer.from(bytes.subarray(start, Math.min(end, start + SAMPLE_BYTES))).toString();
    this.samples.push({ reason, offset: base + start, text });
  }
}
