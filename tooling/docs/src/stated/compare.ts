/** Compares what documents say about defaults with what the sources say. */
import type { Statement } from './documents.js';
import type { Known } from './known.js';
import { amountsIn, valueOf } from './values.js';

export interface WrongStatement extends Statement {
  /** The defaults that the sources have under that name. */
  readonly sources: readonly string[];
}

/** The statements that no option or setting of their area bears out. */
export function wrongStatements(statements: readonly Statement[], known: readonly Known[]): WrongStatement[] {
  return statements.flatMap((statement) => {
    const candidates = candidatesOf(statement, known);
    const sources = candidates.map(({ group, name, text }) => `${group}.${name}: ${text}`);
    return isTrue(
      statement.text,
      candidates.map(({ text }) => text),
    )
      ? []
      : [{ ...statement, sources }];
  });
}

/** Those of the own package come before those of others, and those of a named class before those of others. */
function candidatesOf(statement: Statement, known: readonly Known[]): readonly Known[] {
  const area = /^(?:packages|docs|apps)\/([\w-]+)\//.exec(statement.place)?.[1];
  const own = known.filter(({ folder }) => folder === area);
  for (const among of own.length > 0 ? [own, known] : [known]) {
    for (const name of statement.names) {
      const found = among.filter((option) => isNamed(option.name, name));
      const of = statement.of?.toLowerCase();
      const ofClass = found.filter(({ group }) => of !== undefined && group.toLowerCase().startsWith(of));
      if (ofClass.length > 0) return ofClass;
      if (found.length > 0) return found;
    }
  }
  return [];
}

/** `near.bytes` is also named `bytes`, and `backoff` also means its members. */
function isNamed(option: string, name: string): boolean {
  return option === name || option.endsWith(`.${name}`) || option.startsWith(`${name}.`);
}

function isTrue(stated: string, texts: readonly string[]): boolean {
  const amounts = amountsIn(stated);
  // Such as `16 MiB, chats 64 MiB`: each amount is the default of one of them.
  if (amounts.length > 1 && amounts.every((amount) => texts.some((text) => valueOf(text) === amount)))
    return true;
  return texts.some((text) => (amounts.length > 1 ? bare(text) === bare(stated) : agree(stated, text)));
}

const NOTHING = new Set(['', 'none', 'no limit', 'no end']);

/** A document may be shorter than the comment, such as `none` for `none, so that the cookie counts`. */
function agree(stated: string, text: string): boolean {
  const [short, long] = [stated, text].map(bare) as [string, string];
  const [head = ''] = long.split(/[,:(]/, 1);
  // An empty cell also stands for a required option.
  if (NOTHING.has(short)) return NOTHING.has(head.trim()) || (short === '' && long === 'required');
  const [value, other] = [stated, text].map((each) => valueOf(each.split(/,(?!\d)|: | \(/, 1)[0]!));
  if (value !== undefined && value === other) return true;
  return long === short || (long.startsWith(short) && /^[,:( ]/.test(long.slice(short.length)));
}

function bare(text: string): string {
  return text
    .toLowerCase()
    .replaceAll('`', '')
    .replace(/^[a-z_]+=/, '')
    .replace(/^(?:an?|the|its) /, '')
    .replaceAll(', ', ',')
    .trim();
}
