/** Text of documentation comments, as a cell of a table. */
const MAX_LINE = 160;
const ABBREVIATED = /\b(?:e\.g|i\.e|vs|etc|No)\.$/;

/** Sentences end with a full stop before a blank, outside of code. */
export function sentences(text: string): string[] {
  const found: string[] = [];
  let begin = 0;
  let isCode = false;
  for (let at = 0; at < text.length; at += 1) {
    if (text[at] === '`') isCode = !isCode;
    const ends = !isCode && /[.!?]/.test(text[at]!) && (at + 1 === text.length || text[at + 1] === ' ');
    if (!ends || ABBREVIATED.test(text.slice(begin, at + 1))) continue;
    found.push(text.slice(begin, at + 1).trim());
    begin = at + 1;
  }
  const rest = text.slice(begin).trim();
  return rest === '' ? found : [...found, rest];
}

/** Lines that a reader of the source sees without scrolling. */
export function wrapped(text: string): string {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + word.length < MAX_LINE)
      lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines.join('\n');
}

export function escaped(text: string): string {
  return text.replaceAll('|', String.raw`\|`);
}

export function tableOf(heads: readonly string[], rows: readonly (readonly string[])[]): string {
  return [rowOf(heads), `|${heads.map(() => '---|').join('')}`, ...rows.map(rowOf)].join('\n');
}

function rowOf(cells: readonly string[]): string {
  return `| ${cells.join(' | ')} |`;
}
