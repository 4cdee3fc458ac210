/** The defaults that comments of options promise, beside those of the code: in constants `…DEFAULTS` and in patterns of parameters. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript-5.9';
import { root } from '../pages.js';
import { parsed } from './parsed.js';
import { commentOf } from './comment.js';
import { constantsIn, evaluated, type Constants, type Value } from './evaluate.js';

interface Default {
  /** Such as `locks/src/options.ts: leaseMs`. */
  readonly option: string;
  readonly promised: Value;
  /** Several classes in a file may have an option of one name. */
  readonly values: readonly Value[];
}

interface ConstantDefault {
  /** Such as `CACHE_DEFAULTS`. */
  readonly group: string;
  /** Such as `backoff.delayMs` for a member of a member. */
  readonly name: string;
  readonly text: string;
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

/** Those of options whose comment gives a plain value, and whose name a constant or a pattern of the package has. */
export function defaults(): Default[] {
  return readdirSync(join(root, 'packages')).flatMap((folder) => {
    const sources = sourcesOf(folder);
    const patterns = sources.flatMap(({ text }) => patternDefaults(text));
    return sources.flatMap(({ file, text }) => defaultsOf(join(folder, 'src', file), text, patterns));
  });
}

/** The members of all constants `…DEFAULTS` of a package. */
export function constantDefaults(folder: string): ConstantDefault[] {
  return sourcesOf(folder).flatMap(({ text }) => {
    const constants = constantsIn(parsed(text));
    return Array.from(constants).flatMap(([group, expression]) =>
      membersOf(group, expression, constants).map(([name, value]) => ({ group, name, text: String(value) })),
    );
  });
}

function sourcesOf(folder: string): { file: string; text: string }[] {
  const sources = join(root, 'packages', folder, 'src');
  return readdirSync(sources, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && !file.endsWith('.gen.ts'))
    .map((file) => ({ file, text: readFileSync(join(sources, file), 'utf8') }));
}

/** @param patterns For numbers of options that no constant of the file has: other words and `true` say too little. */
export function defaultsOf(
  file: string,
  text: string,
  patterns: readonly (readonly [string, Value])[] = [],
): Default[] {
  const source = parsed(text);
  const constants = constantsIn(source);
  const promises: [string, Value][] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isPropertySignature(node)) {
      const promised = promisedBy(commentOf(node));
      if (promised !== undefined) promises.push([node.name.getText(), promised]);
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  const members = Array.from(constants).flatMap(([name, expression]) =>
    membersOf(name, expression, constants),
  );
  return promises.flatMap(([name, promised]) => {
    const own = members.filter(([member]) => member === name);
    const isNumber = typeof promised === 'number';
    const found = own.length > 0 || !isNumber ? own : patterns.filter(([pattern]) => pattern === name);
    const values = found.map(([, value]) => value);
    return values.length > 0 ? [{ option: `${file}: ${name}`, promised, values }] : [];
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

/** `({ limit = 100 })`: the names and plain values of the patterns in a file. */
function patternDefaults(text: string): [string, Value][] {
  const source = parsed(text);
  const constants = constantsIn(source);
  const found: [string, Value][] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isBindingElement(node) && node.initializer) {
      const value = evaluated(node.initializer, constants);
      if (typeof value === 'number') found.push([(node.propertyName ?? node.name).getText(), value]);
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

/** Each member of a constant `…DEFAULTS` with its plain value, those of inner objects under their path. */
function membersOf(constant: string, expression: ts.Expression, constants: Constants): [string, Value][] {
  const visit = (node: ts.Expression, within: string): [string, Value][] => {
    const object = ts.isAsExpression(node) || ts.isSatisfiesExpression(node) ? node.expression : node;
    if (!ts.isObjectLiteralExpression(object)) return [];
    return object.properties.filter(ts.isPropertyAssignment).flatMap(({ name, initializer }) => {
      const path = `${within}${name.getText()}`;
      const value = evaluated(initializer, constants);
      return value === undefined ? visit(initializer, `${path}.`) : [[path, value] as [string, Value]];
    });
  };
  return constant.endsWith('DEFAULTS') ? visit(expression, '') : [];
}
