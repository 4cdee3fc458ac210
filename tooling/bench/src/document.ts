/** docs/BENCHMARKS.md and its plots, made from the results that lie in tooling/bench/results. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { plot } from './plot.js';
import { table } from './report.js';
import type { Result } from './run.js';

const INTRODUCTION = `# Benchmarks

Made by \`npm run bench\` from the results in \`tooling/bench/results\`; don't edit. Every competitor does the same work in turn, each time on
a fresh Redis without persistence on the same machine, and the second of two runs counts. Medians; rates also with their spread. On a
machine whose cores are shared, trust ratios within a table, Redis CPU and commands more than absolute rates.
`;

export function writeDocument(results: string, docs: string): void {
  mkdirSync(join(docs, 'benchmarks'), { recursive: true });
  const sections = readdirSync(results)
    .filter((file) => file.endsWith('.json'))
    .toSorted()
    .map((file) => {
      const result = JSON.parse(readFileSync(join(results, file), 'utf8')) as Result;
      writeFileSync(join(docs, 'benchmarks', `${result.scenario}.svg`), plot(result, 'operations/s'));
      const conditions = Object.entries(result.conditions).map(([name, value]) => `${name} ${value}`);
      return `## ${result.title}

One operation is ${result.operation}. ${result.repeats} repeats; ${conditions.join(' · ')}.

![${result.title}](benchmarks/${result.scenario}.svg)

${table(result)}
`;
    });
  writeFileSync(join(docs, 'BENCHMARKS.md'), [INTRODUCTION, ...sections].join('\n'));
}
