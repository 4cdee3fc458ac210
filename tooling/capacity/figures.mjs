/** Figures of `tooling/bench/results`: medians of Mortise, none of which is copied by hand. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const results = join(import.meta.dirname, '../bench/results');

/** A figure of a benchmark; undefined if it was not measured. */
export function figure(scenario, competitor, name) {
  return rowOf(scenario, competitor)?.figures[name]?.median;
}

/** As `figure`; throws where it was not measured. */
export function measured(scenario, competitor, name) {
  const value = figure(scenario, competitor, name);
  if (value === undefined)
    throw new Error(`npm run bench -- ${scenario} has not measured "${name}" of ${competitor}`);
  return value;
}

/** When, and at which load of the machine. */
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
