/**
 * The pictures of the documents. `UPDATE_DOCS=1 npm test -- screenshots` makes them again, from example data; without it, this test looks
 * whether they are there and small.
 */
import { existsSync, mkdirSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Browser, Page } from 'playwright-core';

import { launch, open, signIn, visit } from './fixture/browser.js';
import { Service } from './fixture/service.js';

const IMAGES = fileURLToPath(new URL('../../../../docs/images/console/', import.meta.url));
const MOST_BYTES = 150_000;
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

if (isUpdating) {
  beforeAll(async () => {
    [browser] = await Promise.all([launch(), service.start()]);
    mkdirSync(IMAGES, { recursive: true });
    await seed();
  }, 60_000);

  afterAll(async () => {
    await browser?.close();
    await service.kill();
  });

  test.each(SHOTS)(
    'makes $name',
    async ({ name, place, scheme, shows, prepare }) => {
      const { page, close, troubles } = await open(browser, {
        colorScheme: scheme,
        viewport: { width: 1_200, height: 760 },
      });
      await signIn(page, service);
      await visit(page, service, place);
      if (place === 'overview') await work(page);
      await page.getByText(shows).first().waitFor();
      await prepare?.(page);
      await page.screenshot({ path: `${IMAGES}${name}.png` });
      expect(troubles).toEqual([]);
      await close();
    },
    60_000,
  );
}

describe('the pictures', () => {
  test.each(SHOTS)('$name is there, and has at most 150 kB', ({ name }) => {
    const path = `${IMAGES}${name}.png`;
    expect([path, existsSync(path)]).toEqual([path, true]);
    expect(statSync(path).size).toBeLessThan(MOST_BYTES);
  });
});
