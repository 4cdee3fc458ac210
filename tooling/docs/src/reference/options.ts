/** The options of a package, from the documentation comments of its interfaces. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript-5.9';
import { root } from '../pages.js';
import { parsed } from './parsed.js';
import { commentOf } from './comment.js';
import { escaped, sentences, wrapped } from './text.js';

const isModule = (file: string): boolean => file.startsWith('nestjs/');
/** The names, options and errors of another library: its own documentation describes them. */
const isCompatible = (file: string): boolean => file.startsWith('bullmq/');

interface Option {
  /** Such as `near.bytes` for an option inside another. */
  readonly name: string;
  readonly isRequired: boolean;
  readonly type: string;
  readonly comment: string;
}

interface OptionGroup {
  /** Such as `MutexOptions`. */
  readonly name: string;
  readonly comment: string;
  readonly file: string;
  /** The groups whose options it has too. */
  readonly also: readonly string[];
  readonly options: readonly Option[];
}

const GROUP = /(?:Options|Limits|Rule|Feature)$|^(?:Backoff|BatchHandler)$/;

/** The classes that most readers use come first, and the NestJS modules last. */
function rankOf(file: string): number {
  if (isModule(file)) return 2;
  return /^(?:[\w-]*options|read-through\/options)\.ts$/.test(file) ? 0 : 1;
}

function optionGroups(folder: string): OptionGroup[] {
  const sources = join(root, 'packages', folder, 'src');
  const files = readdirSync(sources, { recursive: true, encoding: 'utf8' }).filter(
    (file) => file.endsWith('.ts') && !file.endsWith('.gen.ts') && !isCompatible(file),
  );
  const order = files.toSorted((a, b) => rankOf(a) - rankOf(b) || (a < b ? -1 : 1));
  const texts = new Map(order.map((file) => [file, readFileSync(join(sources, file), 'utf8')]));
  const doors = [...texts].filter(([file]) => /(?:^|\/)index\.ts$/.test(file)).map(([, text]) => text);
  const isPublic = (name: string): boolean => doors.some((text) => new RegExp(`\\b${name}\\b`).test(text));
  const groups = [...texts].flatMap(([file, text]) => {
    const source = parsed(text);
    return source.statements.flatMap((statement) => {
      if (!GROUP.test(nameOf(statement))) return [];
      const group = groupOf(statement, file);
      return group ? [group] : [];
    });
  });
  // Those that a package doesn't export, but that others have.
  const shared = new Set(groups.filter(({ name }) => isPublic(name)).flatMap(({ also }) => also));
  return groups.filter(({ name }) => isPublic(name) || shared.has(name));
}

function nameOf(statement: ts.Statement): string {
  return ts.isInterfaceDeclaration(statement) || ts.isTypeAliasDeclaration(statement)
    ? statement.name.text
    : '';
}

function groupOf(statement: ts.Statement, file: string): OptionGroup | undefined {
  if (ts.isInterfaceDeclaration(statement))
    return {
      name: statement.name.text,
      comment: commentOf(statement),
      file,
      also: (statement.heritageClauses ?? []).flatMap(({ types }) =>
        types.map((type) => type.expression.getText()),
      ),
      options: membersOf(statement.members, ''),
    };
  // Such as `type ReadWriteLockOptions = LeaseOptions`, or `A & B`.
  if (!ts.isTypeAliasDeclaration(statement)) return undefined;
  const { name, type } = statement;
  const parts = (ts.isIntersectionTypeNode(type) ? [...type.types] : [type]).filter(ts.isTypeReferenceNode);
  const also = parts.map(({ typeName }) => typeName.getText());
  return also.length === 0
    ? undefined
    : { name: name.text, comment: commentOf(statement), file, also, options: [] };
}

function membersOf(members: ts.NodeArray<ts.TypeElement>, within: string): Option[] {
  return members.flatMap((member) => {
    if (!member.name || (!ts.isPropertySignature(member) && !ts.isMethodSignature(member))) return [];
    const name = `${within}${member.name.getText()}`;
    const type = ts.isPropertySignature(member) ? member.type : undefined;
    // Such as `cron?: undefined` of a rule without one.
    if (type?.kind === ts.SyntaxKind.UndefinedKeyword) return [];
    const option = {
      name,
      isRequired: !member.questionToken,
      type: (type?.getText() ?? 'function').replace(/ \| undefined$/, '').replace(/\s+/g, ' '),
      comment: commentOf(member),
    };
    const literal = type && (ts.isUnionTypeNode(type) ? type.types.find(ts.isTypeLiteralNode) : type);
    return [
      option,
      ...(literal && ts.isTypeLiteralNode(literal) ? membersOf(literal.members, `${name}.`) : []),
    ];
  });
}

interface OptionDefault {
  readonly group: string;
  readonly name: string;
  /** Such as `10 s` or `required`. */
  readonly text: string;
}

/** The defaults of the options of a package, as the comments tell them. */
export function optionDefaults(folder: string): OptionDefault[] {
  return optionGroups(folder).flatMap(({ name: group, options }) =>
    options.map((option) => ({ group, name: option.name, text: defaultOf(option).value })),
  );
}

/** The sentence that gives the default, apart from the others. */
function defaultOf({ isRequired, comment }: Option): { value: string; meaning: string } {
  const all = sentences(comment);
  const index = all.findIndex((sentence) => /^Default\b/.test(sentence));
  const value = index < 0 ? '' : all[index]!.replace(/^Default:? /, '').replace(/\.$/, '');
  return {
    value: isRequired ? 'required' : value || 'none',
    meaning: all.filter((_, at) => at !== index).join(' '),
  };
}

export function optionsOf(folder: string): string {
  const groups = optionGroups(folder);
  const known = new Set(groups.map(({ name }) => name));
  const parts = groups.map(({ name, comment, also, options }) => {
    const others = also
      .filter((other) => known.has(other))
      .map((other) => `[\`${other}\`](#${other.toLowerCase()})`);
    const rows = options.map((option) => {
      const { value, meaning } = defaultOf(option);
      return `| \`${option.name}\` | ${escaped(value)} | ${escaped(meaning || `\`${option.type}\``)} |`;
    });
    return [
      `### ${name}`,
      wrapped(comment),
      others.length > 0
        ? `${options.length > 0 ? 'Also' : 'It has'} the options of ${others.join(' and ')}.`
        : '',
      rows.length > 0 ? ['| Option | Default | Meaning |', '|---|---|---|', ...rows].join('\n') : '',
    ]
      .filter((part) => part !== '')
      .join('\n\n');
  });
  return parts.join('\n\n');
}
