/**
 * docs/BENCHMARKS.md, a row for each bar, and docs/benchmarks/<group>.md with every figure of every competitor: made from
 * the results in tooling/bench/results.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { number, table } from './report.js';
import { groupOf, stored } from './results.js';
import type { Result } from './result.js';
import type { Presentation, Scenario } from './scenario.js';

const INTRODUCTION = `# Benchmarks

Made by \`npm run bench\`; don't edit.

- All competitors of a row do the same work in turn, A B C, then B C A, each time on a fresh Redis without persistence, warmed up.
- A figure is the median of the repeats. Costs are for one operation: *Redis CPU* is that of the server's process, *commands sent* are
  those of the clients, *commands run* are those that Redis counts, within scripts too.
- The machine has two shared cores: ratios within one row, Redis CPU and commands say more than absolute rates.
- *Best peer* is the best figure of another library or recipe in the same run. *Ratio* is ours divided by it.
- *bee-queue, lean* has no events, keeps no jobs, and looks for delayed jobs after 1 ms. *Redis in Action, 2.4* is the algorithm in section 2.4 of the book.
- That answers are right and reads write nothing is checked in each run, and stands here only where it is missed.
- The full output of each group, with spreads and conditions, is linked from its heading.
`;

/** A result whose scenario is gone is shown with all its figures. */
export function writeDocuments(scenarios: readonly Scenario[], results: string, docs: string): void {
  const groups = grouped(stored(results), groupOf);
  const details = join(docs, 'benchmarks');
  mkdirSync(details, { recursive: true });
  const sections = Array.from(groups, ([group, all]) => {
    const full = all.map((result) =>
      detail(
        result,
        scenarios.find(({ name }) => name === result.scenario),
      ),
    );
    writeFileSync(
      join(details, `${group}.md`),
      `# Benchmarks of ${group}: full output\n\nMade by \`npm run bench\`; [the summary](../BENCHMARKS.md) tells how. Don't edit.\n\n${full.join('\n')}`,
    );
    return summary(group, all);
  });
  writeFileSync(join(docs, 'BENCHMARKS.md'), [INTRODUCTION, ...sections].join('\n'));
}

function detail(result: Result, presentation: Presentation = {}): string {
  const { title, operation, method = '', repeats } = result;
  const conditions = Object.entries(result.conditions).map(([name, value]) => `${name} ${value}`);
  return `## ${title}

${method} One operation is ${operation}. ${repeats} ${repeats === 1 ? 'repeat' : 'repeats'}; ${conditions.join(' · ')}.

${table(result, presentation)}
`.replaceAll('\n ', '\n');
}

/** One row for each figure that has a bar. */
function summary(group: string, results: readonly Result[]): string {
  const rows = results.flatMap((result) => {
    const shown = result.bars.filter((bar) => !isCheck(bar) || !bar.isMet);
    const figures = grouped(shown, ({ competitor, figure }) => `${competitor}\n${figure}`);
    return Array.from(figures.values(), (bars) => row(result, bars));
  });
  return `## [${group}](benchmarks/${group}.md)

| Work | Figure | Ours | Best peer | Ratio | Bar | |
|---|---|---:|---:|---:|---:|---|
${rows.join('\n')}
`;
}

type Bars = Result['bars'];

function row({ title, competitors, bars: all }: Result, bars: Bars): string {
  const [{ competitor, figure, atLeast }] = bars as [Bars[number], ...Bars];
  const valueOf = ({ figures }: Result['competitors'][number]): number =>
    figures[figure]?.median ?? Number.NaN;
  const ours = competitors.find(({ name }) => name === competitor);
  const peers = competitors
    .filter(({ name }) => isPeer(name) && !all.some((bar) => bar.competitor === name))
    .filter((other) => Number.isFinite(valueOf(other)))
    .toSorted((a, b) => (atLeast === undefined ? 1 : -1) * (valueOf(a) - valueOf(b)));
  const best = peers.at(0);
  const own = ours ? valueOf(ours) : Number.NaN;
  const work = title.replace(/^[^:]+: /, '');
  const cells = [
    work + (competitor.startsWith('@mortise/') && !competitor.includes(' ') ? '' : ` (${competitor})`),
    figure,
    number(own),
    best ? `${number(valueOf(best))} ${best.name}` : '–',
    best && valueOf(best) !== 0 ? number(own / valueOf(best)) : '–',
    bars.map(limit).join(', '),
    bars.every(({ isMet }) => isMet) ? 'met' : '**missed**',
  ];
  return `| ${cells.join(' | ')} |`;
}

/** A floor is the least that any library needs: calls of Redis without one. */
function isPeer(name: string): boolean {
  return !name.startsWith('@mortise/') && !name.includes('floor');
}

/** Checks of right answers and of reads that write nothing: every run has them, and the page shows only missed ones. */
function isCheck({ figure, atLeast, atMost }: Bars[number]): boolean {
  return atMost === 0 || (figure.endsWith('%') && atLeast === 100);
}

function limit({ atLeast, atMost, times, onReference, reached }: Bars[number]): string {
  const bound = atLeast === undefined ? `≤ ${number(atMost!)}` : `≥ ${number(atLeast)}`;
  if (times === undefined) return bound;
  if (onReference === undefined) return `${bound} × ${times}: ${number(reached)}`;
  return `${bound} scaled by ${times}: ${number(reached)}`;
}

function grouped<Item>(items: readonly Item[], keyOf: (item: Item) => string): Map<string, Item[]> {
  const groups = new Map<string, Item[]>();
  for (const item of items) groups.set(keyOf(item), [...(groups.get(keyOf(item)) ?? []), item]);
  return groups;
}
