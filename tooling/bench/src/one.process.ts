/**
 * Measures one competitor of a scenario once, and prints its figures as a line of JSON: `node one.process.js <scenario>
 * <competitor> <options as JSON>`. It is a process of its own so that it can be run where other packages are installed.
 */
import type { MeasureOptions } from './measure.js';
import { measure } from './measure.js';
import { groupOf } from './results.js';
import type { Scenario } from './scenario.js';

const [, , name = '', wanted, options = '{}'] = process.argv;
const group = (await import(`./scenarios/${groupOf({ scenario: name })}/index.js`)) as Record<
  string,
  readonly Scenario[]
>;
const scenario = Object.values(group)
  .flat()
  .find((one) => one.name === name);
const competitor = scenario?.competitors.find((one) => one.name === wanted);
if (!scenario || !competitor) throw new Error(`there is no ${wanted} in ${name}`);
const { seconds, scale = 1 } = JSON.parse(options) as Partial<MeasureOptions>;
const figures = await measure(competitor, { seconds, scale, isCluster: scenario.isCluster });
process.stdout.write(`\n${JSON.stringify(figures)}\n`);
process.exit(0);
