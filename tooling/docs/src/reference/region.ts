/** A part of a page that is made from the source, between two comments. The text around it is written by hand. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { docs } from '../pages.js';

export interface Region {
  /** Such as `queues/reference/options.md`. */
  readonly file: string;
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly text: string;
}

export function pageWith({ file, name, title, description, text }: Region): {
  present: string;
  wanted: string;
} {
  const path = join(docs, file);
  const [begin, end] = [`<!-- ${name}: made from the source -->`, `<!-- /${name} -->`];
  const present = existsSync(path) ? readFileSync(path, 'utf8') : '';
  const page =
    present || `---\ntitle: ${title}\ndescription: ${description}\n---\n\n# ${title}\n\n${begin}\n${end}\n`;
  const [from, to] = [page.indexOf(begin), page.indexOf(end)];
  if (from < 0 || to < from)
    throw new Error(`docs/${file} has no place for ${name}: add "${begin}" and "${end}"`);
  return { present, wanted: `${page.slice(0, from)}${begin}\n\n${text}\n\n${page.slice(to)}` };
}

export function update(region: Region): void {
  const path = join(docs, region.file);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, pageWith(region).wanted);
}
