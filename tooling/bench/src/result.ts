import type { Bar } from './scenario.js';

export interface Spread {
  readonly min: number;
  readonly median: number;
  readonly max: number;
}

export interface Result {
  readonly scenario: string;
  readonly title: string;
  readonly operation: string;
  readonly method?: string;
  readonly conditions: Readonly<Record<string, string>>;
  readonly repeats: number;
  readonly competitors: readonly Row[];
  readonly bars: readonly (Bar & { readonly reached: number; readonly isMet: boolean })[];
}

interface Row {
  readonly name: string;
  readonly version: string;
  readonly figures: Readonly<Record<string, Spread>>;
}
