/** The keys of a package: the tables, and their headings, in the comments at the head of its files `keys.ts`. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../pages.js';
import { tableOf } from './text.js';

export function keysOf(folder: string): string {
  const sources = join(root, 'packages', folder, 'src');
  return readdirSync(sources, { recursive: true, encoding: 'utf8' })
    .filter((file) => /(?:^|\/)keys\.ts$/.test(file))
    .toSorted((a, b) => a.length - b.length)
    .map((file) => tablesIn(readFileSync(join(sources, file), 'utf8')))
    .join('\n\n');
}

function tablesIn(source: string): string {
  const [, comment = ''] = /^\/\*\*\n([\s\S]*?)\n \*\//.exec(source) ?? [];
  return comment
    .split('\n')
    .map((line) => line.replace(/^ \* ?/, ''))
    .join('\n')
    .split('\n\n')
    .flatMap((block) => {
      if (block.startsWith('## ')) return [block];
      return block.startsWith('|') ? [table(block)] : [];
    })
    .join('\n\n');
}

function table(block: string): string {
  const [heads, , ...rows] = block.split('\n').map(cellsOf);
  const whole: string[][] = [];
  for (const cells of rows) {
    // Without a key, the line continues the row before it.
    const last = cells[0] === '' ? whole.pop() : undefined;
    whole.push(last ? last.map((cell, at) => `${cell} ${cells[at]}`.trim()) : cells);
  }
  return tableOf(heads!, whole);
}

function cellsOf(line: string): string[] {
  return line
    .split(/(?<!\\)\|/)
    .slice(1, -1)
    .map((cell) =>
      cell
        .trim()
        .replaceAll('->', '→')
        // A reader of the page has no sources.
        .replace(/,? (?:as in|see) `src\/[^`]*`/, ''),
    );
}
