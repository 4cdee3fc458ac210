/**
 * The blocks of programs in documents. A block after `<!-- path -->` is a file of examples, which the tests of its package
 * run. Any other block is a fragment: a module of its own, between the prelude and the check that its page hides. It is
 * type-checked and run: TypeScript in Node, JavaScript and TSX in a browser. It prints its `// Output:` or the hidden output.
 * The text of a module keeps the line numbers of the document, so that an error of the compiler names the line of the page.
 */
export interface Quote {
  readonly line: number;
  readonly file: string;
  readonly text: string;
}

type Language = 'ts' | 'js' | 'tsx';

export interface Fragment {
  readonly line: number;
  readonly language: Language;
  readonly source: string;
  /** The lines that it prints, if the page tells them. */
  readonly output: readonly string[] | undefined;
  /** Whether it goes on after its output, as a loop does that waits for more. */
  readonly isEndless: boolean;
  /** Whether a hidden check asserts something about its effect. */
  readonly isChecked: boolean;
  /** Of JavaScript and TSX: the elements of the page, and the module of its server. */
  readonly elements: string;
  readonly server: string;
}

interface Open {
  readonly line: number;
  readonly fence: string;
  readonly language: string;
  readonly lines: string[];
}

const FENCE = /^ *(`{3,}|~{3,})(\w*)/;
const QUOTED = /^<!-- ((?:packages|apps|tooling\/(?:consumers|docs))\/\S+\.\w+) -->$/;
/** Comments that belong to a fragment: code, elements and a server before it, code after it, and its output. */
const HIDDEN = /^<!-- (prelude|elements|server|check|output)$/;
const AROUND = new Set(['elements', 'server']);
const LANGUAGES: readonly string[] = ['ts', 'js', 'tsx'] satisfies Language[];
const CONTINUES = '<!-- continues -->';

export function blocksOf(document: string): { quotes: Quote[]; fragments: Fragment[] } {
  const quotes: Quote[] = [];
  const fragments: Fragment[] = [];
  /** The module of the last fragment, and of the next: each line of code under the number that it has in the document. */
  let last: string[] = [];
  let next: string[] = [];
  let quoted: string | undefined;
  let hidden: { kind: string; lines: string[] } | undefined;
  const around = new Map<string, string>();
  let open: Open | undefined;

  for (const [index, line] of document.split('\n').entries()) {
    if (hidden) {
      if (line === '-->') {
        if (hidden.kind === 'prelude') next = hidden.lines;
        else if (AROUND.has(hidden.kind)) around.set(hidden.kind, moduleOf(hidden.lines));
        else fragments.push(completed(fragments.pop(), hidden.kind, hidden.lines, index));
        hidden = undefined;
      } else hidden.lines[index] = line;
    } else if (open && line.trim() === open.fence) {
      const text = open.lines.map((each) => `${each}\n`).join('');
      if (quoted !== undefined) quotes.push({ line: open.line, file: quoted, text });
      else if (LANGUAGES.includes(open.language)) {
        for (const [offset, each] of open.lines.entries()) next[open.line + offset] = each;
        const output = outputOf(text);
        fragments.push({
          line: open.line,
          language: open.language as Language,
          source: moduleOf(next),
          output,
          isEndless: false,
          isChecked: false,
          elements: around.get('elements') ?? '',
          server: around.get('server') ?? '',
        });
        last = next;
        around.clear();
      } else if (open.language === 'md') {
        // A document that shows how blocks are written.
        fragments.push(...blocksOf('\n'.repeat(open.line) + text).fragments);
      }
      [open, quoted, next] = [undefined, undefined, []];
    } else if (open) {
      open.lines.push(line);
    } else if (FENCE.test(line)) {
      const [, fence, language] = FENCE.exec(line)!;
      open = { line: index + 1, fence: fence!, language: language!, lines: [] };
    } else if (HIDDEN.test(line)) {
      const kind = HIDDEN.exec(line)![1]!;
      hidden = { kind, lines: kind === 'prelude' ? next : [] };
    } else if (line === CONTINUES) {
      next = [...last];
    } else if (line !== '') {
      quoted = QUOTED.exec(line)?.[1];
    }
  }
  return { quotes, fragments };
}

function moduleOf(lines: readonly string[]): string {
  return Array.from(lines, (each) => each ?? '').join('\n');
}

function completed(
  fragment: Fragment | undefined,
  kind: string,
  lines: readonly string[],
  end: number,
): Fragment {
  if (!fragment) throw new Error(`line ${end}: there is no fragment before <!-- ${kind} -->`);
  if (kind === 'output')
    return { ...fragment, output: lines.filter((line) => line !== undefined), isEndless: true };
  const before = fragment.source.split('\n');
  const source = moduleOf(Array.from({ length: end }, (_, index) => lines[index] ?? before[index] ?? ''));
  return { ...fragment, source, isChecked: /\bassert\b/.test(moduleOf(lines)) };
}

/** The lines after `// Output:`, which end a program. */
export function outputOf(program: string): string[] | undefined {
  const [, output] = program.split(/^\/\/ Output:\n/m);
  return output
    ?.trimEnd()
    .split('\n')
    .map((line) => line.replace(/^\/\/ ?/, ''));
}
