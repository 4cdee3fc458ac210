/**
 * Compares the packages of this tree with those of another commit. Both are measured by the benchmarks of this tree, in
 * processes of their own, in turn. A ratio is ours of a round divided by theirs of the same round, so that a machine whose
 * speed drifts treats both alike. The result is a report: nothing is missed or met.
 */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { checkoutOf, commitOf } from './checkout.js';
import type { Figures } from './measure.js';
import { number } from './report.js';
import { spread } from './run.js';
import type { Scenario } from './scenario.js';

export interface AgainstOptions {
  readonly revision: string;
  readonly repeats: number;
  readonly seconds: number | undefined;
  readonly scale: number;
  readonly log: (line: string) => void;
}

interface Pair {
  readonly before: Figures;
  readonly now: Figures;
}

const HERE = fileURLToPath(new URL('.', import.meta.url));
/** The output of one measurement is a line. */
const MAX_OUTPUT = 2 ** 24;
const run = promisify(execFile);

export async function compareWith(scenarios: readonly Scenario[], options: AgainstOptions): Promise<void> {
  const { revision, log } = options;
  const commit = commitOf(revision);
  const there = checkoutOf(commit, log);
  for (const scenario of scenarios) {
    for (const competitor of ownCompetitors(scenario)) {
      log(`\n${scenario.title}: ${competitor}`);
      try {
        const pairs = await measurePairs(scenario.name, competitor, there, options);
        log(ratioTable(pairs, commit.slice(0, 8)));
      } catch (error) {
        // The other commit may lack what the benchmark calls.
        log(`  not compared: ${lastLine(error)}`);
      }
    }
  }
}

/** Ours are those that a scenario has bars for, and those with our name. */
function ownCompetitors({ competitors, bars = [] }: Scenario): string[] {
  const barred = new Set(bars.map(({ competitor }) => competitor));
  return competitors
    .map(({ name }) => name)
    .filter((name) => name.startsWith('@mortise') || barred.has(name));
}

async function measurePairs(
  scenario: string,
  competitor: string,
  there: string,
  { repeats, seconds, scale, log }: AgainstOptions,
): Promise<Pair[]> {
  const measureIn = async (folder: string): Promise<Figures> => {
    const args = [join(folder, 'one.process.js'), scenario, competitor, JSON.stringify({ seconds, scale })];
    const { stdout } = await run(process.execPath, args, { maxBuffer: MAX_OUTPUT });
    return JSON.parse(stdout.trim().split('\n').at(-1)!) as Figures;
  };
  const pairs: Pair[] = [];
  for (let round = 0; round < repeats; round += 1) {
    // Each round begins with the other one.
    const first = await measureIn(round % 2 === 0 ? there : HERE);
    const second = await measureIn(round % 2 === 0 ? HERE : there);
    pairs.push(round % 2 === 0 ? { before: first, now: second } : { before: second, now: first });
    log(`  ${round + 1}/${repeats}`);
  }
  return pairs;
}

/** A row for each figure: both medians, and the ratio with its spread. A star marks a ratio that is on one side of 1 in all rounds. */
function ratioTable(pairs: readonly Pair[], before: string): string {
  const names = [...new Set(pairs.flatMap((pair) => Object.keys(pair.now)))].filter((name) =>
    pairs.every((pair) => Number.isFinite(pair.now[name]) && Number.isFinite(pair.before[name])),
  );
  const rows = names.map((name) => {
    const now = spread(pairs.map((pair) => pair.now[name]!));
    const then = spread(pairs.map((pair) => pair.before[name]!));
    const ratio = spread(pairs.map((pair) => ratioOf(pair.now[name]!, pair.before[name]!)));
    const isOneSided = ratio.min > 1 || ratio.max < 1;
    const range = `${ratio.median.toFixed(2)} (${ratio.min.toFixed(2)}..${ratio.max.toFixed(2)})`;
    return `| ${name} | ${number(then.median)} | ${number(now.median)} | ${range}${isOneSided ? ' *' : ''} |`;
  });
  return [`| | ${before} | now | ratio (min..max) |`, '|---|---:|---:|---:|', ...rows].join('\n');
}

function ratioOf(now: number, before: number): number {
  return now === before ? 1 : now / before;
}

function lastLine(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.split('\n').find((line) => /Error/.test(line)) ?? text.split('\n')[0]!;
}
