/** Reads the medians of the benchmarks from `tooling/bench/results`, so that nobody copies them by hand. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const results = join(import.meta.dirname, '../bench/results');

/** A figure of a benchmark; undefined if it was not measured. */
export function figure(scenario, competitor, name) {
  return rowOf(scenario, competitor)?.figures[name]?.median;
}

/** As `figure`, but throws if the benchmark was not measured. */
export function measured(scenario, competitor, name) {
  const value = figure(scenario, competitor, name);
  if (value === undefined)
    throw new Error(`npm run bench -- ${scenario} has not measured "${name}" of ${competitor}`);
  return value;
}

/** The date of a benchmark, the load of its machine, and the machine. */
export function conditionsOf(scenario) {
  const { date, load, machine } = resultOf(scenario).conditions;
  return `${date}, load ${load}, ${machine}`;
}

function rowOf(scenario, competitor) {
  return resultOf(scenario)?.competitors.find(({ name }) => name === competitor);
}

function resultOf(scenario) {
  const group = scenario.split('.')[0];
  try {
    return JSON.parse(readFileSync(join(results, `${group}.json`), 'utf8')).find(
      (one) => one.scenario === scenario,
    );
  } catch (error) {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  }
}
