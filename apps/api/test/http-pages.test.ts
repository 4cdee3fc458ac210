/** `UPDATE_DOCS=1 npm test -- http-pages` writes the reference of the HTTP API from the OpenAPI document. */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';

import { expect, test } from '@jest/globals';

import { startApi } from './fixture/api.js';
import type { Document } from './fixture/http-pages.js';
import { httpPages, routesIndex } from './fixture/http-pages.js';
import { comparedPage } from './fixture/reference-page.js';

const folder = new URL('../../../docs/service/reference/http/', import.meta.url);

const api = await startApi({ CACHE_TABLES: 'stock' });
const document: Document = (await api.send({ path: '/openapi.json' })).json;
const pages = httpPages(document);

if (process.env['UPDATE_DOCS']) {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder);
  for (const [tag, text] of pages) writeFileSync(new URL(`${tag}.md`, folder), text);
}

test('every route has one tag, which has a page', () => {
  const tags = Object.values(document.paths).flatMap((item) => Object.values(item).map((each) => each.tags));
  expect(tags.length).toBeGreaterThan(140);
  expect(tags.filter(([tag, ...others]) => others.length > 0 || !pages.has(tag!))).toEqual([]);
  expect(readdirSync(folder).toSorted()).toEqual([...pages.keys()].map((tag) => `${tag}.md`).toSorted());
});

test.each([...pages.keys()])('docs/service/reference/http/%s.md is that of the document', (tag) => {
  const page = new URL(`${tag}.md`, folder);
  expect(existsSync(page) && readFileSync(page, 'utf8')).toBe(pages.get(tag));
});

test('docs/service/reference/routes.md has the pages', () => {
  const { present, made } = comparedPage('routes', routesIndex(document));
  expect(present).toBe(made);
  expect(made).toContain('](http/queues.md)');
});
