/** The commands and options of `mortise-queues`, from the tables that its help is made of. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript-5.9';
import { root } from '../pages.js';
import { parsed } from './parsed.js';
import { escaped, tableOf } from './text.js';

export function cliCommands(): string {
  const rows = membersOf('USAGES').map(({ name, value }) => {
    const { syntax = '', what = '' } = Object.fromEntries(textsIn(value));
    return [`\`${escaped(`${name} ${syntax}`.trim())}\``, coded(what)];
  });
  return tableOf(['Command', 'Does'], rows);
}

export function cliOptions(): string {
  const rows = membersOf('COMMON_USAGES').map(({ name, value }) => [
    name
      .split(', ')
      .map((each) => `\`${each}\``)
      .join(', '),
    coded((value as ts.StringLiteral).text),
  ]);
  return tableOf(['Option', 'Meaning'], rows);
}

/** Options, addresses, and names of variables are code. */
function coded(text: string): string {
  return escaped(text.replaceAll(/--\w[\w-]*|redis:\/\/\S+|\b[A-Z]+_[A-Z]+\b/g, '`$&`'));
}

interface Member {
  readonly name: string;
  readonly value: ts.Expression;
}

function membersOf(table: string): Member[] {
  const text = readFileSync(join(root, 'packages/queues/src/cli/usage.ts'), 'utf8');
  const source = parsed(text);
  const declarations = source.statements
    .filter(ts.isVariableStatement)
    .flatMap(({ declarationList }) => [...declarationList.declarations]);
  const found = declarations.find(({ name }) => name.getText() === table);
  return propertiesOf(bare(found!.initializer!));
}

/** Without `as const` and `satisfies`. */
function bare(node: ts.Expression): ts.Expression {
  return ts.isAsExpression(node) || ts.isSatisfiesExpression(node) ? bare(node.expression) : node;
}

function propertiesOf(node: ts.Expression): Member[] {
  return (node as ts.ObjectLiteralExpression).properties.filter(ts.isPropertyAssignment).map((property) => ({
    name: (property.name as ts.Identifier | ts.StringLiteral).text,
    value: property.initializer,
  }));
}

function textsIn(node: ts.Expression): [string, string][] {
  return propertiesOf(node).flatMap(({ name, value }) =>
    ts.isStringLiteral(value) ? [[name, value.text] as [string, string]] : [],
  );
}
