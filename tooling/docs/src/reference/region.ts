/** A table of a guide that is made from the source, between two comments. The text around it is written by hand. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { docs } from '../pages.js';

export interface Region {
  /** Such as `queues/cli.md`. */
  readonly file: string;
  readonly name: string;
  readonly text: string;
}

export function pageWith({ file, name, text }: Region): { present: string; wanted: string } {
  const present = readFileSync(join(docs, file), 'utf8');
  const [begin, end] = [`<!-- ${name}: made from the source -->`, `<!-- /${name} -->`];
  const [from, to] = [present.indexOf(begin), present.indexOf(end)];
  if (from < 0 || to < from)
    throw new Error(`docs/${file} has no place for ${name}: add "${begin}" and "${end}"`);
  return { present, wanted: `${present.slice(0, from)}${begin}\n\n${text}\n\n${present.slice(to)}` };
}

export function update(region: Region): void {
  writeFileSync(join(docs, region.file), pageWith(region).wanted);
}
