import { findRedisServer } from '@mortise/redis-server';
import { arch, cpus, loadavg, platform } from 'node:os';
import type { Figures } from './measure.js';
import { measure } from './measure.js';
import type { Bar, Scenario } from './scenario.js';
import { versionOf } from './version-of.js';

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

export interface RunOptions {
  readonly repeats: number;
  /** Length of one measurement, where the scenario is one of a fixed time. */
  readonly seconds: number | undefined;
  readonly log: (line: string) => void;
}

/** Measures every competitor `repeats` times, in turn, each round beginning with another one. */
export async function run(scenario: Scenario, { repeats, seconds, log }: RunOptions): Promise<Result> {
  const { competitors, isCluster, baseline, bars = [] } = scenario;
  const server = await findRedisServer();
  const measured = new Map<string, Figures[]>(competitors.map(({ name }) => [name, []]));
  const loads = [loadavg()[0]!];
  for (let round = 0; round < repeats; round += 1) {
    for (let turn = 0; turn < competitors.length; turn += 1) {
      const competitor = competitors[(round + turn) % competitors.length]!;
      const figures = await measure(competitor, { seconds, isCluster });
      measured.get(competitor.name)!.push(figures);
      log(
        `  ${round + 1}/${repeats} ${competitor.name}: ${Math.round(figures['operations/s']!)} operations/s`,
      );
    }
    loads.push(loadavg()[0]!);
  }
  if (baseline) compare(measured, baseline);
  const rows = competitors.map(({ name, version }) => ({
    name,
    version,
    figures: spreads(measured.get(name)!),
  }));
  return {
    scenario: scenario.name,
    title: scenario.title,
    operation: scenario.operation,
    ...(scenario.method !== undefined && { method: scenario.method }),
    conditions: {
      machine: `${cpus().length} × ${cpus()[0]?.model.trim() ?? 'unknown'}, ${platform()} ${arch()}`,
      node: process.version,
      [server.kind]: server.version,
      ioredis: versionOf('ioredis'),
      load: `${Math.min(...loads).toFixed(1)} to ${Math.max(...loads).toFixed(1)}`,
    },
    repeats,
    competitors: rows,
    bars: bars.map((bar) => judge(bar, rows)),
  };
}

/** Name of the figure that a baseline adds. */
export function comparison({ competitor, figure }: NonNullable<Scenario['baseline']>): string {
  return `${figure} ÷ ${competitor}`;
}

function compare(measured: Map<string, Figures[]>, baseline: NonNullable<Scenario['baseline']>): void {
  const base = measured.get(baseline.competitor)!.map((figures) => figures[baseline.figure]!);
  for (const [name, runs] of measured) {
    measured.set(
      name,
      runs.map((figures, round) => ({
        ...figures,
        [comparison(baseline)]: figures[baseline.figure]! / base[round]!,
      })),
    );
  }
}

function judge(bar: Bar, rows: readonly Row[]): Result['bars'][number] {
  const spread = rows.find(({ name }) => name === bar.competitor)?.figures[bar.figure];
  const worst = bar.atLeast === undefined ? spread?.max : spread?.min;
  const reached = (bar.inEachRepeat ? worst : spread?.median) ?? Number.NaN;
  return {
    ...bar,
    reached,
    isMet: reached >= (bar.atLeast ?? -Infinity) && reached <= (bar.atMost ?? Infinity),
  };
}

function spreads(runs: readonly Figures[]): Record<string, Spread> {
  const names = new Set(runs.flatMap((figures) => Object.keys(figures)));
  return Object.fromEntries(
    [...names].map((name) => {
      const values = runs.map((figures) => figures[name] ?? Number.NaN).toSorted((a, b) => a - b);
      return [name, { min: values[0]!, median: values[Math.floor(values.length / 2)]!, max: values.at(-1)! }];
    }),
  );
}
