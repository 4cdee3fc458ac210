/** The metrics of a package and of the apps, from the calls that make them. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript-5.9';
import { root } from '../pages.js';
import { parsed } from './parsed.js';
import { commentOf } from './comment.js';
import { escaped, tableOf } from './text.js';

interface Source {
  readonly text: string;
  readonly tree: ts.SourceFile;
}

function sourcesOf(folder: string): Source[] {
  const path = join(root, folder, 'src');
  return readdirSync(path, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && !file.endsWith('.gen.ts'))
    .toSorted((a, b) => depthOf(a) - depthOf(b) || (a < b ? -1 : 1))
    .map((file) => {
      const text = readFileSync(join(path, file), 'utf8');
      return { text, tree: parsed(text) };
    });
}

/** The metrics of the package as a whole come before those of its entries. */
function depthOf(file: string): number {
  return /^telemetry\b|^metrics\b/.test(file) ? 0 : 1;
}

/** The calls of the functions that `metricsOf` returned: `metric('hold', 's', '…')`. */
export function metricsOf(folder: string): string {
  const sources = sourcesOf(`packages/${folder}`);
  const all = sources.map(({ text }) => text).join('\n');
  const rows = sources.flatMap(({ tree }) =>
    tree.statements.flatMap((statement) => {
      if (!ts.isVariableStatement(statement)) return [];
      const { name, initializer } = statement.declarationList.declarations[0]!;
      if (!initializer || !ts.isCallExpression(initializer) || initializer.expression.getText() !== 'metric')
        return [];
      const [path, unit, description] = initializer.arguments.map(textOf);
      const more = commentOf(statement);
      return [
        [
          `\`mortise.${folder}.${path}\``,
          `\`${unit}\``,
          kindOf(name.getText(), all),
          escaped(`${description}.${more && ` ${more}`}`),
        ],
      ];
    }),
  );
  return tableOf(['Metric', 'Unit', 'Kind', 'Meaning'], rows);
}

/** The code records the values of a histogram. Counters also lie in tables, by the outcome that they count. */
function kindOf(name: string, code: string): string {
  return new RegExp(`\\brecord\\(${name}\\b`).test(code) ? 'histogram' : 'counter';
}

function textOf(node: ts.Expression): string {
  if (!ts.isStringLiteralLike(node)) throw new Error(`not a text: ${node.getText()}`);
  return node.text;
}

/** The metrics that the apps have besides those of the packages: objects with a literal name and help. */
export function appMetrics(): string {
  const rows = ['apps/common', 'apps/api', 'apps/worker'].flatMap((folder) =>
    sourcesOf(folder).flatMap(({ tree }) => {
      const found: string[][] = [];
      const visit = (node: ts.Node): void => {
        const row = rowOf(node);
        if (row) found.push([...row, folder === 'apps/common' ? 'both' : folder.slice('apps/'.length)]);
        ts.forEachChild(node, visit);
      };
      visit(tree);
      return found;
    }),
  );
  const [name, kind, labels, meaning, app] = [0, 1, 2, 3, 4] as const;
  return tableOf(
    ['Metric', 'Kind', 'App', 'Labels', 'Meaning'],
    rows
      .toSorted((a, b) => (a[name]! < b[name]! ? -1 : 1))
      .map((row) => [row[name]!, row[kind]!, row[app]!, row[labels]!, row[meaning]!]),
  );
}

const PROMETHEUS = new Map([
  ['Gauge', 'gauge'],
  ['Counter', 'counter'],
  ['Histogram', 'histogram'],
]);

/** In `new Gauge(…)`, or alone for a gauge that is written as text. */
function rowOf(node: ts.Node): string[] | undefined {
  if (!ts.isObjectLiteralExpression(node)) return undefined;
  const made = ts.isNewExpression(node.parent) ? PROMETHEUS.get(node.parent.expression.getText()) : undefined;
  const values = new Map(
    node.properties.filter(ts.isPropertyAssignment).map((each) => [each.name.getText(), each.initializer]),
  );
  const [name, help, labels] = ['name', 'help', 'labelNames'].map((key) => values.get(key));
  if (!name || !help || !ts.isStringLiteralLike(name)) return undefined;
  const shown =
    labels && ts.isArrayLiteralExpression(labels) ? labels.elements.map((each) => `\`${textOf(each)}\``) : [];
  return [`\`${name.text}\``, made ?? 'gauge', shown.join(', '), escaped(`${textOf(help)}.`)];
}
