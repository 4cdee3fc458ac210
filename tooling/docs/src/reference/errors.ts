/** The classes of errors of a package, their codes and their fields, from the source. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript-5.9';
import { root } from '../pages.js';
import { commentOf } from './options.js';
import { escaped } from './text.js';

interface Field {
  readonly name: string;
  readonly type: string;
  readonly comment: string;
}

interface ErrorClass {
  readonly name: string;
  readonly comment: string;
  readonly codes: readonly string[];
  readonly fields: readonly Field[];
}

function errorClasses(folder: string): ErrorClass[] {
  const sources = join(root, 'packages', folder, 'src');
  return readdirSync(sources, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .toSorted()
    .flatMap((file) => {
      const source = ts.createSourceFile(
        file,
        readFileSync(join(sources, file), 'utf8'),
        ts.ScriptTarget.Latest,
        true,
      );
      return source.statements.flatMap((statement) => {
        if (!ts.isClassDeclaration(statement) || isAbstract(statement)) return [];
        const codes = codesOf(statement, source);
        if (codes.length === 0) return [];
        return [
          { name: statement.name!.text, comment: commentOf(statement), codes, fields: fieldsOf(statement) },
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

export function errorsOf(folder: string): string {
  return errorClasses(folder)
    .map(({ name, comment, codes, fields }) => {
      const rows = fields.map(
        (field) =>
          `| \`${field.name}\` | ${field.type && `\`${escaped(field.type)}\``} | ${escaped(field.comment)} |`,
      );
      return [
        `### ${name}`,
        comment,
        `${codes.length > 1 ? 'Codes' : 'Code'}: ${codes.map((code) => `\`${code}\``).join(', ')}.`,
        rows.length > 0 ? ['| Field | Type | Meaning |', '|---|---|---|', ...rows].join('\n') : '',
      ]
        .filter((part) => part !== '')
        .join('\n\n');
    })
    .join('\n\n');
}
