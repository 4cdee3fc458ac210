/**
 * The pictures of the documents. `UPDATE_DOCS=1 npm run test:slow -- screenshots` makes them again, from example data, with a list of what
 * each page shows and in which styles. A picture is old when its page has other words, elements or colors. After a change of the
 * console this test opens the pages and compares them with the list; before, it knows that nothing can differ.
 */
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Browser, Page } from 'playwright-core';

import { launch, open, signIn, visit } from './fixture/browser.js';
import { Service } from './fixture/service.js';

const IMAGES = fileURLToPath(new URL('../../../../docs/images/console/', import.meta.url));
const MOST_BYTES = 150_000;
const LIST = `${IMAGES}pictures.json`;
const isUpdating = process.env['UPDATE_DOCS'] === '1';

interface Shot {
  readonly name: string;
  readonly place: string;
  readonly scheme: 'light' | 'dark';
  /** A text that is there when the page is drawn. */
  readonly shows: string;
  readonly prepare?: (page: Page) => Promise<void>;
}

const SHOTS: readonly Shot[] = [
  { name: 'overview', place: 'overview', scheme: 'light', shows: 'Tasks by state as a table' },
  { name: 'overview-dark', place: 'overview', scheme: 'dark', shows: 'Tasks by state as a table' },
  {
    name: 'tasks',
    place: 'queues/mail?q=state:dead%20name:mail.sold',
    scheme: 'light',
    shows: '550',
    prepare: async (page) => {
      await page.getByRole('checkbox', { name: 'Select all rows of this page' }).check();
    },
  },
  {
    name: 'task',
    place: 'queues/mail?q=state:dead',
    scheme: 'light',
    shows: '550',
    prepare: async (page) => {
      await page
        .getByRole('link', { name: /^[0-9a-f-]{36}$/ })
        .first()
        .click();
      await page.getByText('Attempt 1 started').waitFor();
    },
  },
  { name: 'lock', place: 'locks/item-42', scheme: 'dark', shows: 'Held' },
];

interface List {
  /** Of the files of the console. */
  readonly sources: string;
  readonly pictures: Readonly<Record<string, Taken>>;
}

/** A picture, and its page when it was made. */
interface Taken {
  /** Of the file: a picture that was made in another way is not that of the list. */
  readonly sha256: string;
  readonly shows: readonly string[];
  readonly styles: readonly string[];
}

const service = new Service();
let browser: Browser;

/** A queue of mails that has worked for a while. */
async function seed(): Promise<void> {
  const queue = 'mail';
  // From now on its events are kept.
  await service.done('POST', `queues/${queue}/tasks`, {
    name: 'mail.welcome',
    payload: { to: 'jill@example.com' },
  });
  await service.done('GET', `queues/${queue}/times`);
  const names = ['mail.sold', 'mail.expired', 'mail.password-reset'];
  for (let n = 0; n < 60; n += 1) {
    const payload = { to: `player-${n}@example.com`, item: 40 + (n % 5), price: 97 + n };
    await service.done('POST', `queues/${queue}/tasks`, { name: names[n % 3], payload });
  }
  const { items } = await service.done('POST', `queues/${queue}/claims`, { limit: 40, leaseMs: 60_000 });
  for (const [index, { id, lease }] of items.entries()) {
    const path = `queues/${queue}/tasks/${id}`;
    await service.done('POST', `${path}/log`, { lease, text: 'connecting to smtp.example.com' });
    if (index % 5 > 0) await service.done('POST', `${path}/complete`, { lease, result: { accepted: 1 } });
    else
      await service.done('POST', `${path}/fail`, {
        lease,
        error: '550 mailbox unavailable',
        isRetried: false,
      });
  }
  await service.done('POST', `queues/${queue}/claims`, { limit: 3, leaseMs: 60_000 });
  const reports = Array.from({ length: 24 }, (_, hour) => ({
    name: 'report.daily',
    payload: { hour },
    delayMs: (hour + 1) * 3_600_000,
  }));
  await service.done('POST', 'queues/reports/task-batches', { tasks: reports });
  await service.done('POST', 'queues/webhook/tasks', { name: 'webhook.deliver', payload: {} });
  await service.done('POST', 'locks/item-42/acquire', { leaseMs: 600_000 });
}

/** More of it while the page watches, so that the chart has a shape: the page has to show each round. */
async function work(page: Page): Promise<void> {
  const mail = page.getByRole('row', { name: /^mail / });
  for (let round = 0; round < 4; round += 1) {
    const tasks = Array.from({ length: 20 }, () => ({ name: 'mail.sold', payload: {} }));
    await service.done('POST', 'queues/mail/task-batches', { tasks });
    const { items } = await service.done('POST', 'queues/mail/claims', { limit: 12, leaseMs: 60_000 });
    const { ready } = (await service.done('GET', 'queues/mail')).counts;
    await mail
      .getByRole('link', { name: String(ready), exact: true })
      .first()
      .waitFor();
    for (const { id, lease } of items)
      await service.done('POST', `queues/mail/tasks/${id}/complete`, { lease });
  }
}

/** Roles and names, each once: numbers, ids and times are those of the run. */
async function shownBy(page: Page): Promise<string[]> {
  const snapshot = await page.locator('body').ariaSnapshot();
  const lines = snapshot.split('\n').map((line) =>
    line
      .replace(/^[\s-]+/, '')
      .replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, '<id>')
      .replaceAll(/(?<![\w-])[\w-]{16}\.[\da-z]+(?=\.\d)/g, '<holder>')
      .replaceAll(/\b(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)\b/g, '<month>')
      .replaceAll(/\b1 client\b/g, '1 clients')
      // Of the last 10 s: on a slow machine the dead tasks of the seed are older.
      .replaceAll(/\bnone (?=failed for good)/g, '0 ')
      .replaceAll(/\d[\d.,:]*(?: ?(?:ms|s|min|h|d|kB|MB|%)\b)?/g, '<n>')
      // Playwright quotes some ids, such as those that begin with a dash.
      .replace(/: "(<holder>\.<n>)"$/, ': $1'),
  );
  return [...new Set(lines)].filter((line) => line !== '').toSorted((x, y) => (x < y ? -1 : 1));
}

/** Colors, sizes and corners of the elements, each once. */
async function stylesOf(page: Page): Promise<string[]> {
  const styles = await page.evaluate(() =>
    Array.from(document.querySelectorAll('body *'), (element) => {
      const { color, backgroundColor, fontSize, fontWeight, borderRadius } = getComputedStyle(element);
      return [element.tagName.toLowerCase(), color, backgroundColor, fontSize, fontWeight, borderRadius].join(
        ' ',
      );
    }),
  );
  return [...new Set(styles)].toSorted((x, y) => (x < y ? -1 : 1));
}

function sha256Of(...paths: readonly string[]): string {
  const hash = createHash('sha256');
  for (const path of paths) hash.update(readFileSync(path));
  return hash.digest('hex');
}

/** The files that the page is built from. */
function sourcesHash(): string {
  const folder = fileURLToPath(new URL('..', import.meta.url));
  const files = ['src', 'public'].flatMap((name) =>
    readdirSync(join(folder, name), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name)),
  );
  return sha256Of(join(folder, 'index.html'), ...files.toSorted((x, y) => (x < y ? -1 : 1)));
}

const list = JSON.parse(readFileSync(LIST, 'utf8')) as List;
const sources = sourcesHash();
const taken: Record<string, Taken> = {};

/** Takes a picture, or returns what its page is like now. */
async function look({ name, prepare, scheme, place, shows }: Shot): Promise<Omit<Taken, 'sha256'>> {
  const { page, close, troubles } = await open(browser, {
    colorScheme: scheme,
    viewport: { width: 1_200, height: 760 },
  });
  await signIn(page, service);
  await visit(page, service, place);
  if (place === 'overview') await work(page);
  await page.getByText(shows).first().waitFor();
  await prepare?.(page);
  await page.getByText('Live', { exact: true }).waitFor();
  if (isUpdating) await page.screenshot({ path: pathOf(name) });
  const now = { shows: await shownBy(page), styles: await stylesOf(page) };
  expect(troubles).toEqual([]);
  await close();
  return now;
}

function pathOf(name: string): string {
  return `${IMAGES}${name}.png`;
}

// A run that makes them, or the first one after a change of the console.
if (isUpdating || sources !== list.sources) {
  beforeAll(async () => {
    [browser] = await Promise.all([launch(), service.start()]);
    mkdirSync(IMAGES, { recursive: true });
    await seed();
  });

  afterAll(async () => {
    await browser?.close();
    await service.kill();
    if (isUpdating) writeFileSync(LIST, `${JSON.stringify({ sources, pictures: taken }, undefined, 2)}\n`);
  });

  test.each(SHOTS)(
    '$name.png is of the page as it is (UPDATE_DOCS=1 npm run test:slow -- screenshots makes it again)',
    async (shot) => {
      const now = await look(shot);
      if (isUpdating) taken[shot.name] = { sha256: sha256Of(pathOf(shot.name)), ...now };
      const { sha256: _, ...then } = isUpdating ? taken[shot.name]! : list.pictures[shot.name]!;
      expect(now).toEqual(then);
    },
    90_000,
  );
}

test.each(SHOTS)('$name.png is the picture of the list, and has at most 150 kB', ({ name }) => {
  const { sha256 } = (isUpdating ? taken : list.pictures)[name]!;
  expect(sha256Of(pathOf(name))).toBe(sha256);
  expect(statSync(pathOf(name)).size).toBeLessThan(MOST_BYTES);
});
