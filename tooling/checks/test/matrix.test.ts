/** The table of docs/operations/support.md is what the last whole run of `npm run test:matrix` found. */
import { expect, test } from '@jest/globals';
import { cellName, CLIENTS, RUNTIMES, SERVERS, TOPOLOGIES, UNSUPPORTED } from '../../matrix/plan.mjs';
import { BEGIN, END, withTable } from '../../matrix/table.mjs';
import { read } from '../src/repository.js';

const page = read('docs/operations/support.md');
const results = JSON.parse(read('tooling/matrix/results.json')) as {
  readonly date: string;
  readonly versions: Record<string, string>;
  readonly cells: Record<string, string>;
};

test('the table is made from the results', () => {
  expect(withTable(page, results)).toBe(page);
});

test('the table has at most 25 lines', () => {
  const table = page.slice(page.indexOf(BEGIN), page.indexOf(END));
  expect(table.split('\n').length).toBeLessThanOrEqual(25);
});

test('every cell of the plan has passed, unless the plan says why it is not supported', () => {
  const names = [
    ...SERVERS.flatMap(({ name }) => TOPOLOGIES.map((topology) => cellName(name, topology))),
    ...RUNTIMES.flatMap(({ name }) => CLIENTS.map((client) => cellName(name, client.name))),
  ];
  const stateOf = (cell: string): string => (Object.hasOwn(UNSUPPORTED, cell) ? 'unsupported' : 'passed');
  expect(results.cells).toEqual(Object.fromEntries(names.map((cell) => [cell, stateOf(cell)])));
});
