import { expect, test } from '@jest/globals';
import { BEGIN, END, withTable } from '../table.mjs';

const results = {
  date: '2026-01-31',
  versions: { 'Redis 7.0': '7.0.15', Bun: '1.2.3' },
  cells: { 'Redis 7.0 · single': 'passed', 'Redis 7.0 · TLS': 'failed', 'Bun · NestJS 12': 'unsupported' },
};

test('the table says of each cell what its runs said, and of a cell without a run that it was not run', () => {
  const page = withTable(`# A\n\n${BEGIN}\nold\n${END}\n\n## B\n`, results);
  expect(page).toMatch(/^# A\n/);
  expect(page).toMatch(/\n## B\n$/);
  expect(page).not.toContain('old');
  expect(page).toContain('| Redis 7.0.15 | yes | not run | not run | not run | **no** | not run |');
  expect(page).toContain('| Bun 1.2.3 | not run | not run | not run | not run | not run | not run | no |');
});

test('a page without the markers is refused', () => {
  expect(() => withTable('# A\n', results)).toThrow(BEGIN);
});
