/** docs/BENCHMARKS.md and its plots, made from the results that lie in tooling/bench/results. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { plot } from './plot.js';
import { table } from './report.js';
import { stored } from './results.js';
import type { Result } from './run.js';
import type { Presentation, Scenario } from './scenario.js';

const INTRODUCTION = `# Benchmarks

Made by \`npm run bench\` from the results in \`tooling/bench/results\`; don't edit. Every competitor does the same work in turn, each time on
a fresh Redis without persistence on the same machine, warmed up before it counts. Medians; rates also with their spread, in plots the
line. On a machine whose cores are shared, trust ratios within a table, Redis CPU and commands more than absolute rates. Costs are for
one operation: commands sent are those that clients send, commands run are those that Redis counts, within scripts too.
`;

/** A result whose scenario is gone is shown with all its figures. */
export function writeDocument(scenarios: readonly Scenario[], results: string, docs: string): void {
  const all = stored(results).map((result) => ({
    result,
    presentation: scenarios.find(({ name }) => name === result.scenario) ?? {},
  }));
  const plots = join(docs, 'benchmarks');
  mkdirSync(plots, { recursive: true });
  for (const { result, presentation } of all) {
    writeFileSync(join(plots, `${result.scenario}.svg`), plot(result, presentation));
  }
  writeFileSync(
    join(docs, 'BENCHMARKS.md'),
    [INTRODUCTION, ...all.map(({ result, presentation }) => section(result, presentation))].join('\n'),
  );
}

function section(result: Result, presentation: Presentation): string {
  const { scenario, title, operation, method = '', repeats } = result;
  const conditions = Object.entries(result.conditions).map(([name, value]) => `${name} ${value}`);
  return `## ${title}

${method} One operation is ${operation}. ${repeats} ${repeats === 1 ? 'repeat' : 'repeats'}; ${conditions.join(' · ')}.

![${title}](benchmarks/${scenario}.svg)

${table(result, presentation)}
`.replaceAll('\n ', '\n');
}
