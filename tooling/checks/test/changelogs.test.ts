/** Changelogs have the form of https://keepachangelog.com, with one line an entry. */
import { describe, expect, test } from '@jest/globals';
import { KINDS, keptChangelog } from '../../release/changelogs.mjs';
import { files, PACKAGES, read } from '../src/repository.js';

const changeFiles = files('.changeset/*.md').filter((file) => file !== '.changeset/README.md');

/** The entries of a changelog or a change file, with their further lines. */
function entries(text: string): string[] {
  return (
    text
      .split('\n')
      .filter((line) => line !== '' && !/^(?:#|---|'@mortise)/.test(line))
      .join('\n')
      .split(/\n(?=- )/)
      // A package before its first release has none.
      .filter((entry) => entry !== '')
  );
}

test.each(changeFiles)('%s has one line for each change, which begins with its kind', (file) => {
  const form = new RegExp(`^- (?:${KINDS.join('|')}): \\S.{0,149}$`);
  expect(entries(read(file)).filter((entry) => !form.test(entry))).toEqual([]);
});

test.each(PACKAGES)('each entry of the changelog of %s is one line', (name) => {
  const text = read(`packages/${name}/CHANGELOG.md`);
  expect(entries(text).filter((entry) => !/^- .{1,150}$/.test(entry))).toEqual([]);
});

test.each(PACKAGES)(
  'the changelog of %s has dated releases, the newest first, each sorted by kind',
  (name) => {
    const [head, ...releases] = read(`packages/${name}/CHANGELOG.md`).split(/^## /m);
    expect(head!.trim()).toBe('# Changelog');
    const headings = releases.map((release) => release.split('\n', 1)[0]!);
    expect(headings.filter((heading) => !/^\d+\.\d+\.\d+ - \d{4}-\d{2}-\d{2}$/.test(heading))).toEqual([]);
    const dates = headings.map((heading) => heading.split(' - ')[1]!);
    expect(dates).toEqual(dates.toSorted((a, b) => b.localeCompare(a)));
    for (const release of releases) {
      const kinds = [...release.matchAll(/^### (.*)$/gm)].map(([, kind]) => kind!);
      expect(kinds).toEqual(KINDS.filter((kind) => kinds.includes(kind)));
    }
  },
);

describe('keptChangelog', () => {
  const before = '# Changelog\n\n## 0.1.0 - 2026-11-20\n\n### Added\n\n- the beginning\n';
  const written = before.replace(
    '## 0.1.0',
    `## 0.2.0

### Minor Changes

- Changed: \`max\` is \`limit\`.
- Added: a call.

### Patch Changes

- Fixed: a defect.

## 0.1.0`,
  );

  test('sorts the lines of a release by kind', () => {
    expect(keptChangelog(written, '0.2.0', '2026-12-01')).toBe(
      before.replace(
        '## 0.1.0',
        `## 0.2.0 - 2026-12-01

### Added

- A call.

### Changed

- \`max\` is \`limit\`.

### Fixed

- A defect.

## 0.1.0`,
      ),
    );
  });

  test('leaves a changelog without the release as it is', () => {
    expect(keptChangelog(before, '0.2.0', '2026-12-01')).toBe(before);
  });

  test('refuses a line without a kind', () => {
    expect(() => keptChangelog(written.replace('Added: ', ''), '0.2.0', '2026-12-01')).toThrow('a call.');
  });
});
