/** The defaults that comments of options promise, beside those in the constants `…DEFAULTS` of the same file. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript-5.9';
import { root } from '../pages.js';
import { commentOf } from './comment.js';

type Value = number | string | boolean;

interface Default {
  /** Such as `locks/src/options.ts: leaseMs`. */
  readonly option: string;
  readonly promised: Value;
  /** Several classes in a file may have an option of one name. */
  readonly values: readonly Value[];
}

const DAY_MS = 86_400_000;
const UNITS: Readonly<Record<string, number>> = {
  '': 1,
  s: 1_000,
  minute: 60_000,
  hour: 3_600_000,
  day: DAY_MS,
  KiB: 2 ** 10,
  MiB: 2 ** 20,
};

/** Those of options whose name a constant has, and whose comment gives a plain value. */
export function defaults(): Default[] {
  const packages = join(root, 'packages');
  return readdirSync(packages).flatMap((folder) =>
    readdirSync(join(packages, folder, 'src'), { recursive: true, encoding: 'utf8' })
      .filter((file) => /(?:^|\/)options\.ts$/.test(file))
      .map((file) => join(folder, 'src', file))
      .flatMap((file) => defaultsOf(file, readFileSync(join(packages, file), 'utf8'))),
  );
}

export function defaultsOf(file: string, text: string): Default[] {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  const constants = new Map<string, ts.Expression>();
  const promises: [string, Value][] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isVariableDeclaration(node) && node.initializer)
      constants.set(node.name.getText(), node.initializer);
    if (ts.isPropertySignature(node)) {
      const promised = promisedBy(commentOf(node));
      if (promised !== undefined) promises.push([node.name.getText(), promised]);
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  const values = valuesOf(constants);
  return promises.flatMap(([name, promised]) => {
    const ofName = values.get(name);
    return ofName ? [{ option: `${file}: ${name}`, promised, values: ofName }] : [];
  });
}

/** `Default 10,000.`, `Default 64 MiB.` and `Default true.`; other texts are no plain values. */
function promisedBy(comment: string): Value | undefined {
  const [, text, number, unit = ''] =
    /\bDefault:? (?:`?([\w/.-]*[A-Za-z][\w/.-]*?)`?|(\d[\d,]*)(?: (\w+))?(?: \([^)]*\))?)(?=[.:](?:\s|$))/.exec(
      comment,
    ) ?? [];
  if (number !== undefined)
    return Number(number.replaceAll(',', '')) * (UNITS[unit.replace(/(?<=\w\w)s$/, '')] ?? NaN);
  return text === 'true' || text === 'false' ? text === 'true' : text;
}

function valuesOf(constants: ReadonlyMap<string, ts.Expression>): Map<string, Value[]> {
  const values = new Map<string, Value[]>();
  for (const [constant, expression] of constants) {
    const object = ts.isAsExpression(expression) ? expression.expression : expression;
    if (!constant.endsWith('DEFAULTS') || !ts.isObjectLiteralExpression(object)) continue;
    for (const property of object.properties.filter((each) => ts.isPropertyAssignment(each))) {
      const value = valueOf(property.initializer, constants);
      const name = property.name.getText();
      if (value !== undefined) values.set(name, [...(values.get(name) ?? []), value]);
    }
  }
  return values;
}

/** Literals, names of constants, and their products. */
function valueOf(
  expression: ts.Expression,
  constants: ReadonlyMap<string, ts.Expression>,
): Value | undefined {
  if (ts.isNumericLiteral(expression)) return Number(expression.text);
  if (ts.isStringLiteral(expression)) return expression.text;
  if (expression.kind === ts.SyntaxKind.TrueKeyword) return true;
  if (expression.kind === ts.SyntaxKind.FalseKeyword) return false;
  if (ts.isIdentifier(expression)) {
    const constant = constants.get(expression.text);
    return constant && valueOf(constant, constants);
  }
  if (!ts.isBinaryExpression(expression)) return undefined;
  if (expression.operatorToken.kind !== ts.SyntaxKind.AsteriskToken) return undefined;
  const [left, right] = [expression.left, expression.right].map((side) => valueOf(side, constants));
  return typeof left === 'number' && typeof right === 'number' ? left * right : undefined;
}
