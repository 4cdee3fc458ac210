import { arch, cpus, loadavg, platform } from 'node:os';
import type { Figures } from './measure.js';
import { measure } from './measure.js';
import type { Bar, Scenario } from './scenario.js';

export interface Spread {
  readonly min: number;
  readonly median: number;
  readonly max: number;
}

export interface Result {
  readonly scenario: string;
  readonly title: string;
  readonly operation: string;
  readonly conditions: Readonly<Record<string, string>>;
  readonly repeats: number;
  readonly competitors: readonly {
    readonly name: string;
    readonly version: string;
    readonly figures: Readonly<Record<string, Spread>>;
  }[];
  readonly bars: readonly (Bar & { readonly reached: number; readonly isMet: boolean })[];
}

/** Measures every competitor `repeats` times, in turn, each round beginning with another one. */
export async function run(scenario: Scenario, repeats: number, log: (line: string) => void): Promise<Result> {
  const { competitors } = scenario;
  const measured = new Map<string, Figures[]>(competitors.map(({ name }) => [name, []]));
  const loads = [loadavg()[0]!];
  for (let round = 0; round < repeats; round += 1) {
    for (let turn = 0; turn < competitors.length; turn += 1) {
      const competitor = competitors[(round + turn) % competitors.length]!;
      const figures = await measure(competitor);
      measured.get(competitor.name)!.push(figures);
      log(
        `  ${round + 1}/${repeats} ${competitor.name}: ${Math.round(figures['operations/s']!)} operations/s`,
      );
    }
    loads.push(loadavg()[0]!);
  }
  const rows = competitors.map(({ name, version }) => ({
    name,
    version,
    figures: spreads(measured.get(name)!),
  }));
  return {
    scenario: scenario.name,
    title: scenario.title,
    operation: scenario.operation,
    conditions: {
      machine: `${cpus().length} × ${cpus()[0]?.model.trim() ?? 'unknown'}, ${platform()} ${arch()}`,
      node: process.version,
      load: `${Math.min(...loads).toFixed(1)} to ${Math.max(...loads).toFixed(1)}`,
    },
    repeats,
    competitors: rows,
    bars: (scenario.bars ?? []).map((bar) => {
      const reached =
        rows.find(({ name }) => name === bar.competitor)?.figures[bar.figure]?.median ?? Number.NaN;
      return {
        ...bar,
        reached,
        isMet: reached >= (bar.atLeast ?? -Infinity) && reached <= (bar.atMost ?? Infinity),
      };
    }),
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
