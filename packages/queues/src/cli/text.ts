/** Text for terminals. Control characters from Redis are escaped. */

// oxlint-disable-next-line no-control-regex -- the pattern looks for control characters
const UNSAFE = /[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g;

export function plain(text: string): string {
  return text.replace(UNSAFE, (character) =>
    JSON.stringify(character)
      .slice(1, -1)
      .replace(/^[^\\]$/, escape),
  );
}

function escape(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

export type Row = readonly (string | number)[];

/** Columns side by side, numbers to the right. Without rows, an empty string. */
export function table(head: readonly string[], rows: readonly Row[]): string {
  if (rows.length === 0) return '';
  const cells = [head, ...rows].map((row) => row.map((cell) => plain(String(cell))));
  const widths = head.map((_, column) => Math.max(...cells.map((row) => row[column]!.length)));
  const isNumber = head.map((_, column) => typeof rows[0]![column] === 'number');
  return cells
    .map((row) =>
      row
        .map((cell, column) =>
          isNumber[column] ? cell.padStart(widths[column]!) : cell.padEnd(widths[column]!),
        )
        .join('  ')
        .trimEnd(),
    )
    .map((line) => `${line}\n`)
    .join('');
}

/** One field a line. */
export function fields(values: object): string {
  const entries = Object.entries(values).filter(([, value]) => value !== undefined);
  const width = Math.max(...entries.map(([name]) => name.length));
  return entries
    .map(
      ([name, value]) =>
        `${name.padEnd(width)}  ${plain(typeof value === 'string' ? value : JSON.stringify(value))}\n`,
    )
    .join('');
}

export function instant(at: number | undefined): string {
  return at === undefined ? '' : new Date(at).toISOString();
}

export function firstLine(text = ''): string {
  const [line = ''] = text.split('\n', 1);
  return line.length > 80 ? `${line.slice(0, 79)}…` : line;
}
