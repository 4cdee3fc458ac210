/**
 * The changelogs in the form of https://keepachangelog.com: changesets writes the lines of a release under "Minor Changes" and
 * "Patch Changes", and each line begins with its kind.
 */
export const KINDS = ['Added', 'Changed', 'Deprecated', 'Removed', 'Fixed', 'Security'];

/** The changelog with the release of `version` sorted by kind. @param date Of the release, as 2026-11-20. */
export function keptChangelog(text, version, date) {
  const heading = `## ${version}\n`;
  const start = text.indexOf(heading);
  if (start < 0) return text;
  const next = text.indexOf('\n## ', start);
  const end = next < 0 ? text.length : next + 1;
  const lines = text
    .slice(start, end)
    .split('\n')
    .filter((line) => line.startsWith('- '));
  const strange = lines.filter((line) => !KINDS.some((kind) => line.startsWith(`- ${kind}: `)));
  if (strange.length > 0) throw new Error(`a line of a change file begins with no kind: ${strange[0]}`);
  const sections = KINDS.map((kind) => {
    const ofKind = lines.filter((line) => line.startsWith(`- ${kind}: `));
    return ofKind.length === 0
      ? ''
      : `### ${kind}\n\n${ofKind.map((line) => `- ${upper(line.slice(kind.length + 4))}\n`).join('')}\n`;
  });
  const released = `${text.slice(0, start)}## ${version} - ${date}\n\n${sections.join('')}${text.slice(end)}`;
  return `${released.trimEnd()}\n`;
}

/** A line begins with a capital, unless it begins with code. */
function upper(text) {
  return text[0].toUpperCase() + text.slice(1);
}
