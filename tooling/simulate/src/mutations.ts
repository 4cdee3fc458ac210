/**
 * Defects that are planted in the text of the packages as it is loaded, to show that the rules find them. No file is changed. A
 * defect whose text is gone ends the run, so the proof can't silently become none. They are data, in mutations.json.
 */
import { readFileSync } from 'node:fs';
import type { Change } from './world/realm.js';

export interface Mutation extends Change {
  /** The workload that must find it. */
  readonly workload: string;
  /** The rule that it breaks. */
  readonly invariant: string;
  readonly name: string;
}

/** Those of a workload are planted in the package of its name, unless they name another folder. */
type Written = Omit<Mutation, 'package'> & Partial<Pick<Mutation, 'package'>>;

const file = new URL('../src/mutations.json', import.meta.url);

export const MUTATIONS: readonly Mutation[] = (JSON.parse(readFileSync(file, 'utf8')) as Written[]).map(
  (mutation) => ({ package: mutation.workload, ...mutation }),
);

/** Throws for a name that no mutation has. */
export function mutationOf(name: string): Mutation {
  const mutation = MUTATIONS.find((one) => one.name === name);
  if (!mutation) throw new RangeError(`there is no mutation "${name}"`);
  return mutation;
}
