/** The outcomes of the cells, printed as they come; at the end the results file, the table and the exit code. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { root } from '../start/pnpm.mjs';
import { UNSUPPORTED } from './plan.mjs';
import { BEGIN, END, withTable } from './table.mjs';

const file = fileURLToPath(new URL('results.json', import.meta.url));
const page = join(root, 'docs/operations/support.md');

export class Results {
  /** By the name of a server or runtime. */
  versions = {};
  /** The suites of the packages by server, if they were run. */
  suites;
  #outcomes = new Map();

  /** @param state `passed`, `failed` or `not run`; the first outcome of a cell counts */
  record(cell, state, problems = [], seconds = 0) {
    if (this.has(cell)) return;
    const isKnown = state === 'failed' && Object.hasOwn(UNSUPPORTED, cell);
    this.#outcomes.set(cell, { state: isKnown ? 'unsupported' : state, problems });
    console.log(`  ${cell}: ${isKnown ? 'unsupported' : state}${seconds > 0 ? ` (${seconds} s)` : ''}`);
  }

  has(cell) {
    return this.#outcomes.has(cell);
  }

  /** Prints the failures and the counts, and returns the exit code: 0 only if every cell has run, and every other one passed. */
  report() {
    for (const [cell, { state, problems }] of this.#outcomes) {
      if (state === 'failed' || state === 'not run')
        console.log(`\n✗ ${cell}: ${state}\n${problems.join('\n')}`);
    }
    const surprises = Object.keys(UNSUPPORTED).filter((cell) => this.#outcomes.get(cell)?.state === 'passed');
    for (const cell of surprises) console.log(`\n✗ ${cell} passed, but the plan lists it as not supported`);
    for (const [server, { failed }] of Object.entries(this.suites ?? {})) {
      if (failed.length > 0) console.log(`\n✗ test suites on ${server}: ${failed.join(', ')}`);
    }
    const count = (wanted) => [...this.#outcomes.values()].filter(({ state }) => state === wanted).length;
    const states = ['passed', 'failed', 'unsupported', 'not run'];
    console.log(`\n${states.map((state) => `${count(state)} ${state}`).join(', ')}`);
    const hasFailedSuite = Object.values(this.suites ?? {}).some(({ failed }) => failed.length > 0);
    const isWhole = count('passed') > 0 && count('failed') === 0 && count('not run') === 0;
    return isWhole && surprises.length === 0 && !hasFailedSuite ? 0 : 1;
  }

  /** Writes the results and the table. Suites of an earlier run are kept while their server is the same. */
  write(date) {
    const earlier = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {};
    const suites = Object.entries({ ...earlier.suites, ...this.suites }).filter(
      ([name, { version, failed }]) => version === this.versions[name] && failed.length === 0,
    );
    const cells = Object.fromEntries([...this.#outcomes].map(([cell, { state }]) => [cell, state]));
    const results = { date, versions: this.versions, cells, suites: Object.fromEntries(suites) };
    writeFileSync(file, `${JSON.stringify(results, undefined, 2)}\n`);
    const text = withTable(readFileSync(page, 'utf8'), results);
    writeFileSync(page, text);
    console.log(text.slice(text.indexOf(BEGIN) + BEGIN.length, text.indexOf(END)));
  }
}
