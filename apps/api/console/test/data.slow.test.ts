/** Autocomplete, cached rows and caches: figures, lists and actions, checked against the API. */
import { afterEach, expect, test } from '@jest/globals';
import { Refresher, RowCache } from '@mortise/cache/rows';
import { connect, until } from '@mortise/test-kit';
import type { Locator } from 'playwright-core';

import { visit } from './fixture/browser.js';
import { openConsole } from './fixture/console.js';

const { service, opened, page, button, submit } = await openConsole({ CACHE_TABLES: 'stock' });

/** No page may leave an error behind. */
afterEach(() => expect(opened.troubles).toEqual([]));

const figure = (label: string): Locator => page.locator('.figure', { hasText: label });
const row = (name: string): Locator => page.getByRole('row', { name: new RegExp(`^${name} `) });
const dialog = (): Locator => page.getByRole('dialog');

test('contacts and names are added and removed, and a completion says its time at the API', async () => {
  await visit(page, service, 'books/contacts/frank');
  await page.getByText('frank has no recent contact.').waitFor();
  await button('Add a contact').click();
  await dialog().getByLabel('Contact').fill('jill-7|Jill');
  await submit('Add').click();
  await row('jill-7\\|Jill').waitFor();
  await figure('Last completion')
    .getByText(/^[\d.,]+ (µs|ms|s)$/)
    .waitFor();
  const contacts = async (): Promise<unknown> => (await service.done('GET', 'contacts/frank')).items;
  expect(await contacts()).toEqual([{ contact: 'jill-7|Jill' }]);
  await page.getByLabel('Type a prefix').fill('ji');
  await row('jill-7\\|Jill').getByRole('button', { name: 'Remove' }).click();
  await submit('Remove').click();
  await page.getByText('No contact begins so.').waitFor();
  expect(await contacts()).toEqual([]);

  await service.done('PUT', 'address-books/elves/names/frank?by=frank', {});
  await visit(page, service, 'books/elves?as=frank');
  await button('Add a name').click();
  await dialog().getByLabel('Name', { exact: true }).fill('legolas');
  await submit('Add').click();
  await row('legolas').waitFor();
  await figure('Last completion')
    .getByText(/^[\d.,]+ (µs|ms|s)$/)
    .waitFor();
  await row('legolas').getByRole('button', { name: 'Remove' }).click();
  await submit('Remove').click();
  await row('legolas').waitFor({ state: 'detached' });
  expect((await service.done('GET', 'address-books/elves?by=frank')).size).toBe(1);
});

test('rows are listed with interval and last error, refreshed and unscheduled', async () => {
  let failure: Error | undefined = new Error('the table is locked');
  const loads: string[] = [];
  const redis = connect();
  const stock = new RowCache(redis, 'stock', {
    prefix: service.prefix,
    load: async (ids) => {
      loads.push(...ids);
      if (failure && ids.includes('bad')) throw failure;
      return new Map(ids.map((id) => [id, { left: 3 }]));
    },
  });
  for (const id of ['bad', 'good']) await stock.schedule(id, { everyMs: 3_600_000 });
  await using refresher = new Refresher(redis, [stock], {
    onError: () => undefined,
    backoff: { type: 'fixed', delayMs: 60_000 },
  });
  await refresher.start();
  await visit(page, service, 'rows/stock');
  await row('good 1 h').waitFor();
  await row('bad 1 h not loaded').getByText('the table is locked').waitFor();
  await row('bad').getByText('1 failure').waitFor();
  await page.getByLabel('Failing rows only').check();
  await row('good').waitFor({ state: 'detached' });
  expect(page.url()).toContain('failing=true');
  failure = undefined;
  await row('bad').getByRole('button', { name: 'Refresh now' }).click();
  await page.getByText('No row fails.').waitFor();
  expect((await service.done('GET', 'cache/stock/rows')).items).toHaveLength(2);
  await page.getByLabel('Failing rows only').uncheck();
  const before = loads.length;
  await row('good').getByRole('button', { name: 'Refresh now' }).click();
  await until('another load', () => loads.length > before);
  await row('good').getByRole('button', { name: 'Unschedule' }).click();
  await submit('Unschedule').click();
  await row('good').waitFor({ state: 'detached' });
  expect((await service.call('GET', 'cache/stock/rows/good')).status).toBe(404);
});

test('a cache has its keys, and the hits of the reads by this API', async () => {
  await service.done('PUT', 'caches/shop/entries/lamp', { value: { price: 97 } });
  await service.done('GET', 'caches/shop/entries/lamp');
  await service.call('GET', 'caches/shop/entries/none');
  await visit(page, service, 'caches/shop');
  await figure('Hits').getByText('50.0 %').waitFor();
  await figure('Hits').getByText('of 2 reads by requests to this API process').waitFor();
  await page.getByText('Live', { exact: true }).waitFor();
  await service.done('PUT', 'caches/shop/entries/chair', { value: 1 });
  await page.getByRole('link', { name: 'chair' }).waitFor();
  await page.getByRole('link', { name: 'lamp' }).click();
  await page.getByText('"price": 97').waitFor();
  expect(page.url()).toContain('key=lamp');
});

test('the entry that is shown follows its changes, and is gone with its tag', async () => {
  const lamp = 'caches/lights/entries/lamp';
  await service.done('PUT', lamp, { value: { price: 97 }, tags: ['sale'] });
  await visit(page, service, 'caches/lights?key=lamp');
  await page.getByText('"price": 97').waitFor();
  await page.getByText('Live', { exact: true }).waitFor();
  await service.done('PUT', lamp, { value: { price: 98 }, tags: ['sale'] });
  await page.getByText('"price": 98').waitFor();
  await button('Invalidate a tag').click();
  await page.getByRole('textbox', { name: /^Tag/ }).fill('sale');
  await submit('Invalidate').click();
  await page.getByText('It is not cached.').waitFor();
  expect(await page.getByText('"price": 98').count()).toBe(0);
});
