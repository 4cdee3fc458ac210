/** Results on disk: a JSON file for each group, with a line for each scenario, so that a change shows as one. */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Result } from './result.js';

/** JSON has no Infinity, and makes NaN null. */
const INFINITE = '∞';
const DIGITS = 5;

/** `queues` of `queues.latency`. */
export function groupOf({ scenario }: Pick<Result, 'scenario'>): string {
  return scenario.split('.', 1)[0]!;
}

/** Replaces the result of the same scenario. */
export function store(directory: string, result: Result): void {
  mkdirSync(directory, { recursive: true });
  const file = join(directory, `${groupOf(result)}.json`);
  const others = existsSync(file) ? read(file).filter(({ scenario }) => scenario !== result.scenario) : [];
  const all = [...others, result].toSorted((a, b) => (a.scenario < b.scenario ? -1 : 1));
  writeFileSync(file, `[\n${all.map((one) => JSON.stringify(one, written)).join(',\n')}\n]\n`);
}

/** All of them, by group and name. */
export function stored(directory: string): Result[] {
  const files = readdirSync(directory).filter((file) => file.endsWith('.json'));
  return files.toSorted().flatMap((file) => read(join(directory, file)));
}

function read(file: string): Result[] {
  return JSON.parse(readFileSync(file, 'utf8'), (_key, value: unknown) => {
    if (value === INFINITE) return Infinity;
    return value === null ? Number.NaN : value;
  }) as Result[];
}

function written(_key: string, value: unknown): unknown {
  if (value === Infinity) return INFINITE;
  return typeof value === 'number' && !Number.isInteger(value) ? Number(value.toPrecision(DIGITS)) : value;
}
