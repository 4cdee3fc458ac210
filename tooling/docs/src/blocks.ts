/**
 * The blocks of TypeScript in documents. A block after `<!-- path -->` is a file of examples, which the tests of its package
 * run. Any other block is a fragment, which is only type-checked: as a module of its own, after its prelude. The text of a
 * module keeps the line numbers of the document, so that an error of the compiler names the line of the page.
 */
export interface Quote {
  readonly line: number;
  readonly file: string;
  readonly text: string;
}

export interface Fragment {
  readonly line: number;
  readonly source: string;
}

interface Open {
  readonly line: number;
  readonly fence: string;
  readonly language: string;
  readonly lines: string[];
}

const FENCE = /^ *(`{3,}|~{3,})(\w*)/;
const QUOTED = /^<!-- ((?:packages|apps|tooling\/(?:consumers|docs))\/\S+\.\w+) -->$/;
const PRELUDE = '<!-- prelude';
const CONTINUES = '<!-- continues -->';

export function blocksOf(document: string): { quotes: Quote[]; fragments: Fragment[] } {
  const quotes: Quote[] = [];
  const fragments: Fragment[] = [];
  /** The module of the last fragment, and of the next: each line of code under the number that it has in the document. */
  let last: string[] = [];
  let next: string[] = [];
  let quoted: string | undefined;
  let isPrelude = false;
  let open: Open | undefined;

  for (const [index, line] of document.split('\n').entries()) {
    if (isPrelude) {
      isPrelude = line !== '-->';
      if (isPrelude) next[index] = line;
    } else if (open && line.trim() === open.fence) {
      const text = open.lines.map((each) => `${each}\n`).join('');
      if (quoted !== undefined) quotes.push({ line: open.line, file: quoted, text });
      else if (open.language === 'ts') {
        for (const [offset, each] of open.lines.entries()) next[open.line + offset] = each;
        fragments.push({ line: open.line, source: Array.from(next, (each) => each ?? '').join('\n') });
        last = next;
      }
      [open, quoted, next] = [undefined, undefined, []];
    } else if (open) {
      open.lines.push(line);
    } else if (FENCE.test(line)) {
      const [, fence, language] = FENCE.exec(line)!;
      open = { line: index + 1, fence: fence!, language: language!, lines: [] };
    } else if (line.startsWith(PRELUDE)) {
      isPrelude = true;
    } else if (line === CONTINUES) {
      next = [...last];
    } else if (line !== '') {
      quoted = QUOTED.exec(line)?.[1];
    }
  }
  return { quotes, fragments };
}
