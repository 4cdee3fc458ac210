/** The site for programs that read: `llms.txt` lists the pages, and each page lies as Markdown beside its HTML. */
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { linkOf } from './links.js';
import { docs, type Page, type Section } from './pages.js';
import type { ErrorPage } from './reference/error-pages.js';

export function writeMarkdown(
  sections: readonly Section[],
  errors: ReadonlyMap<string, ErrorPage>,
  base: string,
  to: string,
): void {
  writeFileSync(join(to, 'llms.txt'), llmsOf(sections, errors, base));
  cpSync(join(docs, 'index.md'), join(to, 'index.md'));
  for (const { file } of sections.flatMap(({ pages, reference }) => [...pages, ...reference])) {
    mkdirSync(dirname(join(to, file)), { recursive: true });
    writeFileSync(join(to, file), published(file, readFileSync(join(docs, file), 'utf8')));
  }
  for (const [code, { text }] of errors) writeFileSync(join(to, `errors/${code}.md`), text);
}

export function llmsOf(
  sections: readonly Section[],
  errors: ReadonlyMap<string, ErrorPage>,
  base: string,
): string {
  const line = ({ file, title, description }: Page): string =>
    `- [${title}](${base}${file})${description && `: ${description}`}`;
  const { description } = JSON.parse(readFileSync(join(docs, '../package.json'), 'utf8')) as {
    description: string;
  };
  const listOf = (chosen: readonly Section[]): string[] =>
    chosen.flatMap(({ pages, reference }) => [...pages, ...reference].map(line));
  const parts = sections
    .filter(({ isInternal }) => !isInternal)
    .map((section) => `## ${section.title}\n\n${listOf([section]).join('\n')}`);
  const codes = Array.from(errors, ([code, { when }]) => `- [${code}](${base}errors/${code}.md): ${when}`);
  parts.push(`## Errors\n\n${codes.join('\n')}`);
  // The format of llms.txt gives this title to the section that a reader with little room leaves out.
  const internal = listOf(sections.filter(({ isInternal }) => isInternal));
  return [`# Mortise\n\n> ${description}`, ...parts, `## Optional\n\n${internal.join('\n')}\n`].join('\n\n');
}

/** The page with addresses that work away from the repository, without comments for the check of code. */
function published(file: string, text: string): string {
  return text
    .replace(
      /^<!-- (?:(?:prelude|elements|server|check|output|setup|answers|answer of)\n[\s\S]*?\n--|continues --|[Mm]ade from .* --)>\n+/gm,
      '',
    )
    .replace(/\]\(([^)\s]+)\)/g, (_, target: string) => `](${linkOf(file, target)})`);
}
