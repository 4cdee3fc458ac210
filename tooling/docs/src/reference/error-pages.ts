/** A page for each code: a code may have several classes. Messages of errors end with its address. */
import { errorClasses, fieldTable } from './errors.js';
import { FEATURES } from './packages.js';

/** By code, as Markdown. */
export function errorPages(): Map<string, string> {
  const sections = new Map<string, string[]>();
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
        sections.set(code, [...(sections.get(code) ?? []), section.join('\n\n')]);
      }
    }
  }
  return new Map(Array.from(sections, ([code, parts]) => [code, `# ${code}\n\n${parts.join('\n\n')}\n`]));
}
