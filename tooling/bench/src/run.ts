import { findRedisServer } from '@mortise/redis-server';
import { arch, cpus, loadavg, platform } from 'node:os';
import type { Figures } from './measure.js';
import { measure } from './measure.js';
import { number, RATE } from './report.js';
import type { Result, Spread } from './result.js';
import type { Bar, Competitor, Scenario } from './scenario.js';
import { versionOf } from './version-of.js';

export interface RunOptions {
  readonly repeats: number;
  /** Length of one measurement, where the scenario is one of a fixed time. */
  readonly seconds: number | undefined;
  /** The scale of the data, where the scenario allows it. */
  readonly scale: number;
  /** How the machine is used, unless it is idle: part of the conditions. */
  readonly measured?: string | undefined;
  readonly log: (line: string) => void;
}

/** Measures every competitor `repeats` times, in turn, each round beginning with another one. */
export async function run(scenario: Scenario, options: RunOptions): Promise<Result> {
  const { competitors, isCluster, baseline, bars = [], mostRepeats = Infinity, isAtOnce = false } = scenario;
  const { seconds, scale, log } = options;
  const repeats = Math.min(options.repeats, mostRepeats);
  const server = await findRedisServer();
  const measured = new Map<string, Figures[]>(competitors.map(({ name }) => [name, []]));
  const loads = [loadavg()[0]!];
  const take = async (competitor: Competitor, round: number): Promise<void> => {
    const figures = await measure(competitor, { seconds, scale, isCluster });
    measured.get(competitor.name)!.push(figures);
    const { drawn = RATE } = scenario;
    const what = isAtOnce ? `${scenario.name}: ` : '';
    log(
      `  ${what}${round + 1}/${repeats} ${competitor.name}: ${number(figures[drawn] ?? Number.NaN)} ${drawn}`,
    );
  };
  for (let round = 0; round < repeats; round += 1) {
    const first = round % competitors.length;
    const turns = [...competitors.slice(first), ...competitors.slice(0, first)];
    if (isAtOnce) await Promise.all(turns.map((competitor) => take(competitor, round)));
    else for (const competitor of turns) await take(competitor, round);
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
      date: new Date().toISOString().slice(0, 10),
      ...(options.measured !== undefined && { measured: options.measured }),
    },
    repeats,
    competitors: rows,
    bars: bars.map((bar) => judge(bar, measured)),
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

function judge(bar: Bar, measured: ReadonlyMap<string, readonly Figures[]>): Result['bars'][number] {
  const runs = (name: string): number[] =>
    measured.get(name)!.map((figures) => figures[bar.figure] ?? Number.NaN);
  const peers = bar.times === undefined ? undefined : runs(bar.times);
  const { onReference = 1 } = bar;
  const values = runs(bar.competitor).map((value, round) =>
    peers ? (value / peers[round]!) * onReference : value,
  );
  const { min, median, max } = spread(values);
  const worst = bar.atLeast === undefined ? max : min;
  const reached = bar.inEachRepeat ? worst : median;
  return {
    ...bar,
    reached,
    isMet: reached >= (bar.atLeast ?? -Infinity) && reached <= (bar.atMost ?? Infinity),
  };
}

function spreads(runs: readonly Figures[]): Record<string, Spread> {
  const names = new Set(runs.flatMap((figures) => Object.keys(figures)));
  return Object.fromEntries(
    Array.from(names, (name) => [name, spread(runs.map((figures) => figures[name] ?? Number.NaN))]),
  );
}

export function spread(values: readonly number[]): Spread {
  const sorted = values.toSorted((a, b) => a - b);
  return { min: sorted[0]!, median: sorted[Math.floor(sorted.length / 2)]!, max: sorted.at(-1)! };
}
