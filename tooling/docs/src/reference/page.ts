/**
 * A page of `docs/<area>/reference/`. Its words by hand lie in `tooling/docs/reference/<area>/`, where a comment such as
 * `<!-- options -->` stands for a part that is made from the source. So the page is made as a whole, and an edit of it shows.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../../..', import.meta.url));

export interface ReferencePage {
  /** Such as `queues/reference/options.md`. */
  readonly file: string;
  /** By the names in the comments. */
  readonly parts: Readonly<Record<string, string>>;
}

export function writtenFile(file: string): string {
  return `tooling/docs/reference/${dirname(dirname(file))}/${basename(file)}`;
}

/** The whole page, as it has to be. */
export function madePage({ file, parts }: ReferencePage): string {
  const written = readFileSync(join(root, writtenFile(file)), 'utf8');
  const used: string[] = [];
  const made = written.replaceAll(/^<!-- (\w+) -->$/gm, (comment, name: string) => {
    const part = parts[name];
    if (part === undefined) return comment;
    used.push(name);
    return part;
  });
  const [found, wanted] = [used, Object.keys(parts)].map((names) => names.toSorted().join(', '));
  if (found !== wanted) throw new Error(`${writtenFile(file)} has the parts "${found}", not "${wanted}"`);
  return made.replace(
    /^(# .*\n)/m,
    `$1\n<!-- Made from ${writtenFile(file)} and the source: \`UPDATE_DOCS=1\` writes it. -->\n`,
  );
}

/** As it is; empty if there is none. */
export function presentPage({ file }: ReferencePage): string {
  const path = join(root, 'docs', file);
  return existsSync(path) ? readFileSync(path, 'utf8') : '';
}

export function writePage(page: ReferencePage): void {
  const path = join(root, 'docs', page.file);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, madePage(page));
}
