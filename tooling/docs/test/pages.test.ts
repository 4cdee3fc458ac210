import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { linkOf, slugOf } from '../src/links.js';
import { llmsOf } from '../src/llms.js';
import { docs, pageOf, readPages, sectionsOf } from '../src/pages.js';

const GITHUB = 'https://github.com/mortise-js/mortise/blob/main';

test('a page has the title and description of its front matter', () => {
  const text =
    "---\ntitle: 'Retries: backoff'\ndescription: Run a failed task again.\norder: 2\n---\n\n# Retries\n";
  expect(pageOf('queues/retries.md', text)).toEqual({
    file: 'queues/retries.md',
    title: 'Retries: backoff',
    description: 'Run a failed task again.',
    order: 2,
  });
});

test('a page without front matter has the title of its heading, and comes last', () => {
  expect(pageOf('locks/a.md', '# The `Mutex`\n')).toEqual({
    file: 'locks/a.md',
    title: 'The Mutex',
    description: '',
    order: Infinity,
  });
});

test('sections follow the folders, with references apart and the pages for contributors at the end', () => {
  const pages = [
    'queues/retries.md',
    'queues/reference/errors.md',
    'start/node.md',
    'new/a.md',
    'TESTING.md',
  ];
  const sections = sectionsOf(pages.map((file) => pageOf(file, `# ${file}\n`)));
  const named = sections.map(({ title, pages: guides, reference }) => [
    title,
    guides.length,
    reference.length,
  ]);
  expect(named).toEqual([
    ['Get started', 1, 0],
    ['Queues', 1, 1],
    ['new', 1, 0],
    ['Contributing', 1, 0],
    ['Decisions', 0, 0],
  ]);
});

test('llms.txt lists each page with its description, under the base of the site', () => {
  const page = pageOf('start/node.md', '---\ntitle: Node\ndescription: A queue in plain Node.\n---\n');
  const errors = new Map([['ERR_LEASE_LOST', { when: 'The lease is over.', text: '# ERR_LEASE_LOST\n' }]]);
  const llms = llmsOf(sectionsOf([page]), errors, '/mortise/');
  expect(llms).toContain('## Get started\n\n- [Node](/mortise/start/node.md): A queue in plain Node.\n');
  expect(llms).toContain('- [ERR_LEASE_LOST](/mortise/errors/ERR_LEASE_LOST.md): The lease is over.\n');
});

test('a link to a file outside docs becomes an address, and an address of a page becomes a link', () => {
  expect(linkOf('queues/retries.md', '../../packages/queues/src/options.ts')).toBe(
    `${GITHUB}/packages/queues/src/options.ts`,
  );
  expect(linkOf('queues/retries.md', `${GITHUB}/docs/locks/semantics.md#clocks`)).toBe(
    '/locks/semantics.md#clocks',
  );
  expect(linkOf('queues/reference/errors.md', 'https://mortise.dev/errors/ERR_LEASE_LOST')).toBe(
    '/errors/ERR_LEASE_LOST',
  );
  for (const target of ['flows.md#parents', '../locks/mutex.md', '#backoff', 'https://redis.io'])
    expect(linkOf('queues/retries.md', target)).toBe(target);
});

test('anchors are those of GitHub', () => {
  expect(slugOf('Why `leaseMs`: 10 s, or more?')).toBe('why-leasems-10-s-or-more');
});

test('each page for users begins with a title and a description, which YAML reads, and a heading', () => {
  const pages = sectionsOf(readPages())
    .filter(({ isInternal }) => !isInternal)
    .flatMap(({ pages: guides, reference }) => [...guides, ...reference])
    .filter(({ file }) => file.includes('/'));
  expect(pages.length).toBeGreaterThan(30);
  // A colon and a blank begin a value, so a text that has them stands in quotes.
  const text = String.raw`(?:'.*'|".*"|(?:(?!: )[^'"])(?:(?!: | #).)*)`;
  const form = new RegExp(`^---\\ntitle: ${text}\\ndescription: ${text}\\n(?:order: \\d+\\n)?---\\n\\n# `);
  const wrong = pages.filter(({ file }) => !form.test(readFileSync(join(docs, file), 'utf8')));
  expect(wrong.map(({ file }) => file)).toEqual([]);
});
