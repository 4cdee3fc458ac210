/** The part of docs/operations/support.md between the markers: what the last whole run of the matrix found. */
import { cellName, CLIENTS, HEADINGS, LIMITS, RUNTIMES, SERVERS, TOPOLOGIES } from './plan.mjs';

export const BEGIN = '<!-- matrix: made by `npm run test:matrix` -->';
export const END = '<!-- /matrix -->';

const MARKS = { passed: 'yes', failed: '**no**', unsupported: 'no', 'not run': 'not run' };

/** @param results What `results.json` has */
function tableOf({ date, versions, cells, suites = {} }) {
  const notes = Object.keys(LIMITS);
  const heading = (column) => {
    const text = HEADINGS[column] ?? column;
    return notes.includes(column) ? `${text} ${superscript(notes.indexOf(column))}` : text;
  };
  const rows = (names, columns) =>
    names.map(({ name }) => {
      const marks = columns.map((column) => MARKS[cells[cellName(name, column)] ?? 'not run']);
      return `| ${nameOf(name, versions[name])} | ${marks.join(' | ')} |`;
    });
  const head = (first, columns) => [
    `| ${[first, ...columns.map(heading)].join(' | ')} |`,
    `|---|${'---|'.repeat(columns.length)}`,
  ];
  const clients = CLIENTS.map(({ name }) => name);
  const suiteRows = Object.entries(suites).map(
    ([name, { version, passed, date: on }]) => `${name} (${version}: ${passed} tests, ${on})`,
  );
  return [
    `Run on ${date} by \`npm run test:matrix\`: programs call every public method, except those for PostgreSQL and OpenTelemetry, and check the results.`,
    '',
    ...head('Server', TOPOLOGIES),
    ...rows(SERVERS, TOPOLOGIES),
    '',
    ...head('Runtime', clients),
    ...rows(RUNTIMES, clients),
    '',
    ...notes.flatMap((note, index) => [`${superscript(index)} ${upperFirst(LIMITS[note].join('\n'))}`, '']),
    ...(suiteRows.length === 0 ? [] : [`The test suites of the packages ran on ${suiteRows.join(', ')}.`]),
  ]
    .join('\n')
    .trimEnd();
}

/** `Redis 7.0` and `7.0.15` are `Redis 7.0.15`. */
function nameOf(name, version) {
  return version === undefined ? name : `${name.split(' ')[0]} ${version}`;
}

/** The page with the table of these results. */
export function withTable(page, results) {
  const [before, rest] = page.split(BEGIN);
  const after = rest?.split(END)[1];
  if (after === undefined) throw new Error(`docs/operations/support.md needs the lines ${BEGIN} and ${END}`);
  return `${before}${BEGIN}\n\n${tableOf(results)}\n\n${END}${after}`;
}

function superscript(index) {
  return '¹²³⁴⁵'[index];
}

function upperFirst(text) {
  return text[0].toUpperCase() + text.slice(1);
}
