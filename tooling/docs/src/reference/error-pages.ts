/** A page for each code: a code may have several classes. Messages of errors end with its address. */
import { errorClasses, fieldTable } from './errors.js';
import { FEATURES } from './packages.js';

export interface ErrorPage {
  /** The words of the first class with this code. */
  readonly when: string;
  /** Markdown. */
  readonly text: string;
}

let made: ReadonlyMap<string, ErrorPage> | undefined;

/** By code. Made once, because they need a parse of all sources: the search asks for each page. */
export function errorPages(): ReadonlyMap<string, ErrorPage> {
  made ??= make();
  return made;
}

function make(): Map<string, ErrorPage> {
  const sections = new Map<string, { when: string; parts: string[] }>();
  for (const folder of ['redis', ...FEATURES]) {
    for (const { name, comment, codes, fields } of errorClasses(folder)) {
      for (const { code, when, remedy } of codes) {
        const section = [
          `## ${name} of @mortise/${folder}`,
          when,
          ...(codes.length > 1 ? [comment] : []),
          `**Remedy:** ${remedy}`,
          ...(fields.length > 0 ? [fieldTable(fields)] : []),
          `[All errors of @mortise/${folder}](/${folder}/reference/errors.md)`,
        ];
        const page = sections.get(code) ?? { when, parts: [] };
        page.parts.push(section.join('\n\n'));
        sections.set(code, page);
      }
    }
  }
  return new Map(
    Array.from(sections, ([code, { when, parts }]) => [
      code,
      { when, text: `# ${code}\n\n${parts.join('\n\n')}\n` },
    ]),
  );
}

/** The text in which the site searches for a made page: VitePress reads only files for its index. */
export function searchedIn(file: string): { anchor: string; titles: string[]; text: string }[] | undefined {
  const [, code] = /\/errors\/(ERR_\w+)\.md$/.exec(file) ?? [];
  const page = code === undefined ? undefined : errorPages().get(code);
  if (!page) return undefined;
  const text = page.text.replace(/^# .*$/m, '').replace(/\]\([^)]*\)|[`#*|[\]]|-{3,}/g, ' ');
  return [{ anchor: '', titles: [code!], text }];
}
