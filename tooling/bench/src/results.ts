/** Results on disk, one JSON file for each scenario. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Result } from './run.js';

export function store(directory: string, result: Result): void {
  mkdirSync(directory, { recursive: true });
  const json = JSON.stringify(result, (_key, value: unknown) => (value === Infinity ? INFINITE : value), 2);
  writeFileSync(join(directory, `${result.scenario}.json`), `${json}\n`);
}

const INFINITE = '∞';

/** All of them, by name. JSON has no Infinity, and makes NaN null. */
export function stored(directory: string): Result[] {
  return readdirSync(directory)
    .filter((file) => file.endsWith('.json'))
    .toSorted()
    .map(
      (file) =>
        JSON.parse(readFileSync(join(directory, file), 'utf8'), (_key, value: unknown) => {
          if (value === INFINITE) return Infinity;
          return value === null ? Number.NaN : value;
        }) as Result,
    );
}
