/**
 * `npm run bench -- [name …] [--repeats 3] [--seconds n] [--measured how] [--dry-run [--scale n]] [--against commit]`: measures,
 * prints tables and bars, writes results and remakes docs/BENCHMARKS.md and docs/benchmarks; a dry run writes nothing. A name is that of a group, a scenario or some
 * of one kind (`locks.hand-off`); without one all run. `--seconds` is for work of a fixed time; `--measured 'beside other work'`
 * is noted among the conditions; `--scale 0.01` takes a hundredth of the data where a scenario has much of it, to see that it
 * runs, and is for dry runs. Ends with code 1 when a bar is missed. `--against HEAD~10` compares the packages with those of that
 * commit instead, prints ratios, and writes nothing.
 */
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { compareWith } from './against.js';
import { writeDocuments } from './document.js';
import { beside, table, verdict } from './report.js';
import { store } from './results.js';
import { run } from './run.js';
import type { Scenario } from './scenario.js';
import { aggregation } from './scenarios/aggregation/index.js';
import { api } from './scenarios/api/index.js';
import { autocomplete } from './scenarios/autocomplete/index.js';
import { cache } from './scenarios/cache/index.js';
import { consoles } from './scenarios/console/index.js';
import { files } from './scenarios/files/index.js';
import { locks } from './scenarios/locks/index.js';
import { messaging } from './scenarios/messaging/index.js';
import { queues } from './scenarios/queues/index.js';
import { scale as scaleOut } from './scenarios/scale/index.js';

const scenarios = [
  ...locks,
  ...queues,
  ...messaging,
  ...files,
  ...autocomplete,
  ...cache,
  ...aggregation,
  ...api,
  ...consoles,
  ...scaleOut,
];
const results = fileURLToPath(new URL('../results/', import.meta.url));
const docs = fileURLToPath(new URL('../../../docs/', import.meta.url));

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    repeats: { type: 'string', default: '3' },
    seconds: { type: 'string' },
    scale: { type: 'string', default: '1' },
    measured: { type: 'string' },
    'dry-run': { type: 'boolean', default: false },
    against: { type: 'string' },
  },
});
const repeats = Number(values.repeats);
const seconds = values.seconds === undefined ? undefined : Number(values.seconds);
const scale = Number(values.scale);
const { measured } = values;
const chosen = scenarios.filter(
  ({ name, alsoIn }) =>
    positionals.length === 0 ||
    positionals.some(
      (wanted) =>
        name === wanted ||
        alsoIn === wanted ||
        name.startsWith(`${wanted}.`) ||
        name.startsWith(`${wanted}-`),
    ),
);
const isUsable =
  Number.isInteger(repeats) &&
  repeats >= 1 &&
  (seconds === undefined || seconds > 0) &&
  (scale === 1 || (scale > 0 && (values['dry-run'] || values.against !== undefined)));
if (chosen.length === 0 || !isUsable) {
  console.error(
    `usage: npm run bench -- [name …] [--repeats 3] [--seconds n] [--measured how] [--dry-run [--scale n]] [--against commit]\n  ${scenarios.map(({ name }) => name).join('\n  ')}`,
  );
  process.exit(2);
}

if (values.against !== undefined) {
  const revision = values.against;
  await compareWith(chosen, { revision, repeats, seconds, scale, log: console.log });
  process.exit(0);
}

const startedAt = performance.now();
const verdicts: string[] = [];
let missed = 0;

async function measureOne(scenario: Scenario): Promise<void> {
  console.log(`\n${scenario.title}\n${scenario.method ?? ''}`.trimEnd());
  const result = await run(scenario, { repeats, seconds, scale, measured, log: console.log });
  if (!values['dry-run']) store(results, result);
  const conditions = Object.entries(result.conditions).map((pair) => pair.join(' '));
  console.log(`\n${scenario.title}\n${conditions.join(' · ')}\n${table(result, scenario)}`);
  verdicts.push(
    ...result.bars.map((bar) => `${verdict(bar)} (${scenario.name})\n      ${beside(bar, result)}`),
  );
  missed += result.bars.filter(({ isMet }) => !isMet).length;
}

for (const scenario of chosen.filter(({ isAtOnce }) => !isAtOnce)) await measureOne(scenario);
await Promise.all(chosen.filter(({ isAtOnce }) => isAtOnce).map(measureOne));
if (!values['dry-run']) writeDocuments(scenarios, results, docs);
console.log(
  `\n${((performance.now() - startedAt) / 1000).toFixed(0)} s. Bars, and the figures of all beside them:`,
);
for (const line of verdicts) console.log(`  ${line}`);
process.exit(missed > 0 ? 1 : 0);
