/**
 * `npm run bench -- [group or scenario] [--repeats 3]`: measures, prints tables, writes results, and remakes
 * docs/BENCHMARKS.md. Without a name every scenario runs. Ends with code 1 when a bar is missed.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { writeDocument } from './document.js';
import { table } from './report.js';
import { run } from './run.js';
import { queues } from './scenarios/queues.js';

const scenarios = [...queues];
const results = fileURLToPath(new URL('../results/', import.meta.url));
const docs = fileURLToPath(new URL('../../../docs/', import.meta.url));

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { repeats: { type: 'string', default: '3' } },
});
const repeats = Number(values.repeats);
const chosen = scenarios.filter(
  ({ name }) =>
    positionals.length === 0 ||
    positionals.some((wanted) => name === wanted || name.startsWith(`${wanted}.`)),
);
if (chosen.length === 0 || !Number.isInteger(repeats) || repeats < 1) {
  console.error(
    `usage: npm run bench -- [name …] [--repeats 3]\n  ${scenarios.map(({ name }) => name).join('\n  ')}`,
  );
  process.exit(2);
}

mkdirSync(results, { recursive: true });
let missed = 0;
for (const scenario of chosen) {
  console.log(`\n${scenario.title}`);
  const result = await run(scenario, repeats, console.log);
  writeFileSync(join(results, `${scenario.name}.json`), `${JSON.stringify(result, undefined, 2)}\n`);
  console.log(`\n${table(result)}`);
  missed += result.bars.filter(({ isMet }) => !isMet).length;
}
writeDocument(results, docs);
process.exit(missed > 0 ? 1 : 0);
