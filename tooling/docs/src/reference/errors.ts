/**
 * The errors of a package, from the comments of their classes. A class with several codes has the tag `@code` for each, and
 * each code has a `@remedy`.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript-5.9';
import { SITE } from '../links.js';
import { root } from '../pages.js';
import { parsed } from './parsed.js';
import { commentOf, tagsOf } from './comment.js';
import { escaped, tableOf } from './text.js';

interface Field {
  readonly name: string;
  readonly type: string;
  readonly comment: string;
}

interface Code {
  /** Such as `ERR_LEASE_LOST`. */
  readonly code: string;
  readonly when: string;
  readonly remedy: string;
}

interface ErrorClass {
  readonly name: string;
  readonly comment: string;
  readonly codes: readonly Code[];
  readonly fields: readonly Field[];
  /** Whether its messages end with a link to the page of the code. */
  readonly isLinked: boolean;
}

export function errorClasses(folder: string): ErrorClass[] {
  const sources = join(root, 'packages', folder, 'src');
  return readdirSync(sources, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && !file.endsWith('.gen.ts'))
    .toSorted()
    .flatMap((file) => {
      const source = parsed(readFileSync(join(sources, file), 'utf8'));
      return source.statements.flatMap((statement) => {
        if (!ts.isClassDeclaration(statement) || isAbstract(statement)) return [];
        const declared = codesOf(statement, source);
        if (declared.length === 0) return [];
        const codes = explained(statement, declared);
        const [name, comment] = [statement.name!.text, commentOf(statement)];
        return [
          { name, comment, codes, fields: fieldsOf(statement), isLinked: isLinked(statement, declared) },
        ];
      });
    });
}

function isAbstract(node: ts.ClassDeclaration): boolean {
  return (node.modifiers ?? []).some(({ kind }) => kind === ts.SyntaxKind.AbstractKeyword);
}

/** Literals, or the names in the table or type that the declaration of `code` refers to. */
function codesOf(node: ts.ClassDeclaration, source: ts.SourceFile): string[] {
  const declared = propertiesOf(node).find((property) => property.name.getText() === 'code');
  if (!declared) return [];
  const text = declared.getText();
  const literals = text.match(/ERR_\w+/g);
  if (literals) return [...new Set(literals)];
  const referred = /(?:keyof typeof )?(\w+)\s*(?:,|;|$)/.exec(text.replace(/^.*?:/, ''))?.[1];
  const table = source.statements.find((statement) =>
    new RegExp(`^(?:export )?(?:const|type) ${referred}\\b`).test(statement.getText()),
  );
  return [...new Set(table?.getText().match(/ERR_\w+/g))];
}

/** The codes in the order of their tags. A single code means what the class means. */
function explained(node: ts.ClassDeclaration, declared: readonly string[]): Code[] {
  const tags = tagsOf(node).filter(({ name }) => name === 'code' || name === 'remedy');
  const codes = tags.flatMap(({ name, text }, index): Code[] => {
    const isAlone = name === 'remedy' && index === 0;
    if (name !== 'code' && !isAlone) return [];
    const remedy = isAlone ? text : tags[index + 1]?.name === 'remedy' ? tags[index + 1]!.text : '';
    const [code, when] = isAlone
      ? [declared[0]!, commentOf(node)]
      : [text.split(' ', 1)[0]!, text.slice(text.indexOf(' ') + 1)];
    return [{ code, when, remedy }];
  });
  const [found, wanted] = [codes.map(({ code }) => code), declared].map((list) => list.toSorted().join(', '));
  if (found !== wanted || codes.some(({ remedy }) => remedy === ''))
    throw new Error(`the comment of ${node.name!.text} must explain ${wanted}, each with a remedy`);
  return codes;
}

/** `super(message, options, code)` in its constructor, with a code of its own: a literal, or the one that it was given. */
function isLinked(node: ts.ClassDeclaration, declared: readonly string[]): boolean {
  let given: ts.Expression | undefined;
  const visit = (inner: ts.Node): void => {
    if (ts.isCallExpression(inner) && inner.expression.kind === ts.SyntaxKind.SuperKeyword)
      given = inner.arguments[2];
    ts.forEachChild(inner, visit);
  };
  visit(node);
  if (given === undefined) return false;
  const literals = given.getText().match(/ERR_\w+/g);
  return literals ? literals.every((code) => declared.includes(code)) : given.getText() === 'code';
}

type Property = ts.PropertyDeclaration | ts.ParameterDeclaration;

function propertiesOf(node: ts.ClassDeclaration): Property[] {
  return node.members.flatMap((member): Property[] => {
    if (ts.isConstructorDeclaration(member))
      return member.parameters.filter((each) => has(each, ts.SyntaxKind.ReadonlyKeyword));
    return ts.isPropertyDeclaration(member) && !has(member, ts.SyntaxKind.StaticKeyword) ? [member] : [];
  });
}

function has(node: Property, kind: ts.SyntaxKind): boolean {
  return (node.modifiers ?? []).some((modifier) => modifier.kind === kind);
}

function fieldsOf(node: ts.ClassDeclaration): Field[] {
  return propertiesOf(node)
    .filter((property) => property.name.getText() !== 'code')
    .map((property) => ({
      name: property.name.getText(),
      type: (property.type?.getText() ?? '').replace(/ \| undefined$/, '').replace(/\s+/g, ' '),
      comment: commentOf(property),
    }));
}

/** A table of the codes, then the classes. */
export function errorsOf(folder: string): string {
  const classes = errorClasses(folder);
  const rows = new Map<string, string[]>();
  for (const { name, codes } of classes) {
    for (const { code, when, remedy } of codes) {
      const [, , before = ''] = rows.get(code) ?? [];
      // Two classes of JavaScript have one code for misuse. The first one stands for both.
      const row = rows.get(code) ?? [linkOfCode(code), `\`${name}\``, '', escaped(remedy)];
      row[2] = `${before} ${escaped(when)}`.trim();
      rows.set(code, row);
    }
  }
  return [
    '## Codes',
    tableOf(['Code', 'Class', 'When', 'Remedy'], [...rows.values()]),
    '## Classes and fields',
    'Each class extends `CodedError`, unless its comment says otherwise. `instanceof` also holds for the error of another copy of the package.',
    ...classes.flatMap(({ name, comment, codes, fields }) => [
      `### ${name}`,
      ...(codes.length > 1 ? [comment] : []),
      `${codes.length > 1 ? 'Codes' : 'Code'}: ${codes.map(({ code }) => `\`${code}\``).join(', ')}.`,
      ...(fields.length > 0 ? [fieldTable(fields)] : []),
    ]),
  ].join('\n\n');
}

/** The address that messages end with: the site has the page, the repository doesn't. */
function linkOfCode(code: string): string {
  return `[\`${code}\`](${SITE}/errors/${code})`;
}

/** Without the column of meanings, if the names say enough. */
export function fieldTable(fields: readonly Field[]): string {
  const hasMeaning = fields.some(({ comment }) => comment !== '');
  return tableOf(
    ['Field', 'Type', ...(hasMeaning ? ['Meaning'] : [])],
    fields.map(({ name, type, comment }) => [
      `\`${name}\``,
      type && `\`${escaped(type)}\``,
      ...(hasMeaning ? [escaped(comment)] : []),
    ]),
  );
}
