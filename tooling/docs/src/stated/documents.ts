/** Defaults in documents: rows of tables with a column for them, and phrases such as `10 s by default`. */
import type { Document } from '../documents.js';
import { NUMBER } from './values.js';

export interface Statement {
  /** Such as `docs/queues/retries.md:81`. */
  readonly place: string;
  /** The options that it may be about, the nearest one first. */
  readonly names: readonly string[];
  /** A class or call that has the option, if the row tells it. */
  readonly of: string | undefined;
  /** The default, as the document writes it. */
  readonly text: string;
}

const VALUE = String.raw`(?:\`[^\`]+\`|${NUMBER}|an? (?:second|minute|hour|day)\b)`;
const PHRASES = [
  String.raw`(${VALUE}) by default`,
  String.raw`(${VALUE}),? (?:is )?the default\b`,
  String.raw`(${VALUE}) \(default\)`,
  String.raw`(?<!\bthe )\bdefaults?:? (?:is |to )?(${VALUE})`,
  String.raw`\bby default \((${VALUE})\)`,
].map((pattern) => new RegExp(pattern, 'gi'));
/** All names in a span of code, as in `near: { entries, bytes }`. */
const CODE = /`([^`]+)`/g;
const NAME = /[A-Za-z_]\w*(?:\.\w+)*/g;
const RULE = /^\|[-:| ]+\|$/;

export function statementsIn({ file, text }: Document): Statement[] {
  const lines = withoutBlocks(text).split('\n');
  const statements: Statement[] = [];
  let heads: readonly string[] = [];
  for (const [index, line] of lines.entries()) {
    const place = `${file}:${index + 1}`;
    const cells = cellsOf(line);
    if (RULE.test(line)) continue;
    if (cells.length === 0) heads = [];
    else if (RULE.test(lines[index + 1] ?? '')) heads = cells;
    const column = heads.indexOf('Default');
    const isRow = column > 0 && heads !== cells;
    if (isRow) statements.push(...rowOf(cells, column, place));
    else if (cells.length > 0) {
      const outer = [cells[0]!, heads[0] ?? ''].flatMap((cell) => namesIn(cell));
      statements.push(...cells.flatMap((cell) => phrasesIn('', cell, '', place, outer)));
    } else statements.push(...phrasesOf(lines, index, place));
  }
  return statements;
}

/** With empty lines in place of code, comments, front matter, and the parts that are made from the source. */
function withoutBlocks(text: string): string {
  return text
    .replace(/^---\n[\s\S]*?\n---\n/, empty)
    .replaceAll(/^<!-- (\w+): made from the source -->$[\s\S]*?^<!-- \/\1 -->$/gm, empty)
    .replaceAll(/^(```|~~~)[\s\S]*?^\1/gm, empty)
    .replaceAll(/^<!--[\s\S]*?-->/gm, empty);
}

function empty(block: string): string {
  return block.replaceAll(/[^\n]/g, '');
}

function cellsOf(line: string): string[] {
  if (!line.startsWith('|')) return [];
  return line
    .split(/(?<!\\)\|/)
    .slice(1, -1)
    .map((cell) => cell.trim());
}

/** A row of several options has as many defaults. */
function rowOf(cells: readonly string[], column: number, place: string): Statement[] {
  const [own = ''] = cells[0]!.split(' of ');
  const names = namesIn(own).length > 0 ? namesIn(own) : own.split(', ');
  const of = / of (?:a )?`?(\w+)/.exec(cells[0]!)?.[1];
  const text = cells[column]!;
  const texts = [text.split('; '), text.split(', ')].find(({ length }) => length === names.length);
  if (names.length === 1 || !texts) return [{ place, names, of, text }];
  return names.map((name, index) => ({ place, names: [name], of, text: texts[index]! }));
}

function namesIn(text: string): string[] {
  return Array.from(text.matchAll(CODE), ([, code]) => code!.match(NAME) ?? []).flat();
}

/** Those of a line. A sentence may begin in the line before and end in the next. */
function phrasesOf(lines: readonly string[], index: number, place: string): Statement[] {
  const line = lines[index]!;
  const isItem = /^\s*(?:[-*]|\d+\.) /.test(line);
  const [before = '', after = ''] = [lines[index - 1], lines[index + 1]];
  return phrasesIn(isItem ? '' : before, line, /[.:]$/.test(line) ? '' : after, place, []);
}

/** The phrases that begin in a text. Their option stands before the value, after it, or at the head of the row or table. */
function phrasesIn(
  before: string,
  text: string,
  after: string,
  place: string,
  outer: readonly string[],
): Statement[] {
  const joined = `${text} ${after}`;
  return PHRASES.flatMap((pattern) =>
    Array.from(joined.matchAll(pattern))
      .filter(({ index }) => index < text.length && !isCode(text.slice(0, index)))
      .map((match) => {
        const earlier = namesIn(`${before} ${joined.slice(0, match.index)}`).toReversed();
        const later = namesIn(joined.slice(match.index + match[0].length));
        return { place, names: [...earlier, ...later, ...outer], of: undefined, text: match[1]! };
      }),
  );
}

/** Whether the text ends within code. */
function isCode(text: string): boolean {
  return text.split('`').length % 2 === 0;
}
