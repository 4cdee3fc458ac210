/** The market in numbers, which follow its events. */
import { afterEach, expect, test } from '@jest/globals';
import type { Locator } from 'playwright-core';

import { visit } from './fixture/browser.js';
import { openConsole } from './fixture/console.js';

const { service, opened, page, button, submit } = await openConsole();

/** No action may leave an error behind. */
afterEach(() => expect(opened.troubles).toEqual([]));

const figure = (label: string): Locator =>
  page.locator('dl.figure').filter({ has: page.getByText(label, { exact: true }) });

async function offer(itemId: string): Promise<string> {
  await service.done('PUT', `market/players/seller/items/${itemId}`);
  return (await service.done('POST', 'market/listings', { sellerId: 'seller', itemId, price: 6 })).id;
}

test('sales, conflicts and mails are counted as they happen, and a listing is cancelled', async () => {
  for (const id of ['seller', 'buyer'])
    await service.done('PUT', `market/players/${id}`, { name: id, email: `${id}@example.com`, funds: 100 });
  const ids = [await offer('axe'), await offer('bow'), await offer('cap')];
  await visit(page, service, 'market');
  await figure('For sale').getByText('3', { exact: true }).waitFor();
  await figure('Sales per second').getByText('0', { exact: true }).waitFor();
  const buy = (id: string) =>
    service.call('POST', `market/listings/${id}/purchases`, { buyerId: 'buyer', expectedPrice: 6 });
  expect([(await buy(ids[0]!)).status, (await buy(ids[0]!)).status]).toEqual([201, 409]);
  expect((await buy(ids[1]!)).status).toBe(201);
  await figure('For sale').getByText('1', { exact: true }).waitFor();
  await figure('Sales per second').getByText('0.033', { exact: true }).waitFor();
  await figure('Conflicts')
    .getByText(/^of 3 purchases/)
    .waitFor();
  await figure('Mails to send').getByText('2', { exact: true }).waitFor();
  await figure('Mails to send').getByRole('link', { name: 'queue' }).waitFor();
  expect(await service.done('GET', 'market/figures')).toMatchObject({
    listings: 1,
    sales: 2,
    outbox: 0,
    purchases: { sold: 2, conflicts: 1, refused: 0 },
  });
  // The list and the figures are read apart.
  const listings = page.getByRole('region', { name: 'Listings' });
  for (const item of ['axe', 'bow']) await listings.getByText(item).waitFor({ state: 'detached' });
  await button('Withdraw').click();
  await submit('Withdraw').click();
  await page.getByText('Nothing is for sale.').waitFor();
  await figure('For sale').getByText('0', { exact: true }).waitFor();
  expect((await service.call('GET', `market/listings/${ids[2]}`)).status).toBe(404);
});
