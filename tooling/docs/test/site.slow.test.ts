import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { docs, readPages, root } from '../src/pages.js';

const site = mkdtempSync(join(tmpdir(), 'mortise-docs-'));
const pages = readPages();
/** As the references link to them. */
const codes = [
  ...new Set(
    pages
      .filter(({ file }) => file.endsWith('/reference/errors.md'))
      .flatMap(
        ({ file }) =>
          readFileSync(join(docs, file), 'utf8').match(/(?<=mortise\.dev\/errors\/)ERR_\w+(?=\))/g) ?? [],
      ),
  ),
];

// The build fails when a link between pages is dead. It takes 15 s of a processor.
beforeAll(async () => {
  const main = join(root, 'tooling/docs/main.mjs');
  await promisify(execFile)(process.execPath, [main, '--out', site, '--base', '/mortise/']);
}, 400_000);

afterAll(() => rmSync(site, { recursive: true, force: true }));

test('each page of docs is a page of the site, as HTML and as Markdown, and is in llms.txt', () => {
  expect(pages.length).toBeGreaterThan(30);
  const llms = readFileSync(join(site, 'llms.txt'), 'utf8');
  const missing = pages.filter(
    ({ file }) =>
      !existsSync(join(site, file)) ||
      !existsSync(join(site, file.replace(/\.md$/, '.html'))) ||
      !llms.includes(`(/mortise/${file})`),
  );
  expect(missing).toEqual([]);
});

test('the site finds words without a service', () => {
  const chunks = readdirSync(join(site, 'assets/chunks'));
  const index = chunks.find((file) => file.startsWith('@localSearchIndex'))!;
  const text = readFileSync(join(site, 'assets/chunks', index), 'utf8');
  expect(text).toContain('outbox');
  expect(codes.filter((code) => !text.includes(`/mortise/errors/${code}`))).toEqual([]);
});

test('a page loads nothing from another host', () => {
  const html = readFileSync(join(site, 'TESTING.html'), 'utf8');
  expect([...html.matchAll(/<(?:script|link|img)[^>]*(?:src|href)="(https?:[^"]*)"/g)]).toEqual([]);
});

test('the first page shows the life of a task, and the console in both schemes', () => {
  const html = readFileSync(join(site, 'index.html'), 'utf8');
  expect(html).toMatch(/class="life-of-task"[^>]*><svg/);
  const shots = [...html.matchAll(/<img class="only-(?:light|dark)" src="\/mortise\/([^"]+)"/g)];
  expect(shots.map(([, file]) => existsSync(join(site, file!)))).toEqual([true, true]);
});

test('a page has its icon inside', () => {
  expect(readFileSync(join(site, 'TESTING.html'), 'utf8')).toContain('rel="icon" href="data:image/svg+xml,');
});

test('a link to a source file leads to the repository', () => {
  const address = 'https://github.com/mortise-js/mortise/blob/main/tooling/consumers/budget.json';
  expect(readFileSync(join(site, 'TESTING.html'), 'utf8')).toContain(`href="${address}"`);
  expect(readFileSync(join(site, 'TESTING.md'), 'utf8')).toContain(`](${address})`);
});

test('the reference of errors leads to the page of each code', () => {
  const html = readFileSync(join(site, 'locks/reference/errors.html'), 'utf8');
  expect(html).toContain('<a href="/mortise/errors/ERR_LOCK_TIMEOUT"');
});

test('each code of an error has the page that messages link to', () => {
  expect(codes.length).toBeGreaterThan(70);
  const missing = codes.filter((code) => !existsSync(join(site, `errors/${code}.html`)));
  expect(missing).toEqual([]);
  const llms = readFileSync(join(site, 'llms.txt'), 'utf8');
  expect(codes.filter((code) => !llms.includes(`](/mortise/errors/${code}.md): `))).toEqual([]);
  const html = readFileSync(join(site, 'errors/ERR_LOCK_TIMEOUT.html'), 'utf8');
  expect(html).toContain('<title>ERR_LOCK_TIMEOUT | Mortise</title>');
  expect(html).toContain('LockTimeoutError');
  expect(readFileSync(join(site, 'errors/ERR_LOCK_TIMEOUT.md'), 'utf8')).toMatch(/^# ERR_LOCK_TIMEOUT\n/);
});
