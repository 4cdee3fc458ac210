/**
 * The first steps of somebody who has never seen the console, with nothing but the link that `npm start` prints: each test begins at the
 * overview, and goes on by what the page shows.
 */
import { afterAll, afterEach, beforeEach, expect, test } from '@jest/globals';
import { until } from '@mortise/test-kit';
import type { Locator, Page } from 'playwright-core';

import { launch, open } from './fixture/browser.js';
import { npmStart } from './fixture/npm-start.js';

const { link, get, mails } = await npmStart();
const browser = await launch();
afterAll(() => browser.close());
const { page, troubles } = await open(browser);

const DAY_MS = 86_400_000;
const button = (name: string): Locator => page.getByRole('button', { name, exact: true });
const submit = (name: string): Locator => page.getByRole('dialog').getByRole('button', { name });
const area = (name: string, of: Page = page): Promise<void> =>
  of.getByRole('navigation', { name: 'Areas' }).getByRole('link', { name, exact: true }).click();

beforeEach(async () => {
  await page.goto(link);
  await page.getByRole('heading', { name: 'Overview' }).waitFor();
});

afterEach(() => expect(troubles).toEqual([]));

test('finds why a mail failed, mends it and runs it again', async () => {
  await page.getByRole('link', { name: 'why: mail' }).click();
  await page.getByText('the seller is unknown').waitFor();
  await page.getByRole('link', { name: 'mail-of-nobody' }).click();
  await page.getByRole('heading', { name: /the seller is unknown/ }).waitFor();
  await page.getByText('"sellerId": "nobody"').waitFor();
  await button('Run again, edited').click();
  const payload = page.getByLabel('Payload');
  await payload.fill((await payload.inputValue()).replace('nobody', 'bill'));
  await submit('Enqueue').click();
  await page.locator('h1').getByText('succeeded').waitFor();
  await until('the mail', () => mails().some((mail) => mail.includes('To: bill@fake-game.example')));
  expect((await get('queues/mail')).counts).toMatchObject({ succeeded: 1, dead: 1 });
});

test('reschedules a hundred tasks by a filter', async () => {
  await area('Queues');
  await page
    .getByRole('row', { name: /newsletter/ })
    .getByRole('link', { name: '100' })
    .click();
  const filter = page.getByRole('combobox', { name: 'Filter' });
  await filter.press('End');
  await filter.pressSequentially(' na');
  await page.getByRole('option', { name: 'name:', exact: true }).click();
  await page.getByRole('option', { name: 'name:newsletter.send' }).click();
  await page.getByText('All state:scheduled name:newsletter.send').waitFor();
  await button('Reschedule').click();
  await page.getByLabel('Run in').fill('3');
  await page.getByLabel('Unit').selectOption('days');
  await submit('Reschedule 100 tasks').click();
  await page.getByText('Done: 100 rescheduled.').waitFor();
  const { items } = await get('queues/newsletter/tasks?state=scheduled&limit=200');
  const late = items.filter(({ runAt }: { runAt: number }) => runAt > Date.now() + 2 * DAY_MS);
  expect([items.length, late.length]).toEqual([100, 100]);
});

test('watches a lock change hands, and takes it away', async () => {
  await area('Locks');
  await page.getByRole('link', { name: 'till' }).click();
  const changes = page.getByRole('region', { name: 'Changes of the lock' }).locator('tbody tr');
  const tokens = async (): Promise<string[]> => changes.locator('td:nth-child(3)').allInnerTexts();
  // Each has it for four seconds: both get it, one after the other.
  await changes.nth(2).waitFor();
  const [newest = '', ...older] = (await tokens()).filter((token) => token !== '–');
  expect(older.every((token) => Number(token) < Number(newest))).toBe(true);
  await button('Force release').click();
  await submit('Release').click();
  await page.getByText('till is released.').waitFor();
  const taken = Number(newest);
  await until('another holder', async () => (await tokens()).some((token) => Number(token) > taken));
  await area('Access');
  await page.getByRole('link', { name: 'Audit log' }).click();
  await page.getByText('POST /v1/locks/till/force-release').first().waitFor();
  expect((await get('locks/till')).queueLength).toBeLessThanOrEqual(1);
});

test('chats between two tabs, in the chat of the example', async () => {
  await area('Chats');
  await page.getByRole('link', { name: 'lobby' }).click();
  await page.getByText('Who sells an ItemM?').waitFor();
  await page.getByLabel('Post as').fill('frank');
  await page.getByLabel('Post as').blur();
  const other = await page.context().newPage();
  await other.goto(page.url());
  await other.getByLabel('Post as').fill('bill');
  await other.getByLabel('Post as').blur();
  await other.getByLabel('Message').fill('<b>I do</b>');
  await other.getByRole('button', { name: 'Post' }).click();
  await page.getByText('<b>I do</b>').waitFor();
  await page.getByLabel('Message').fill('For 97?');
  await button('Post').click();
  await other.getByText('For 97?').waitFor();
  const { items } = await get('chats/lobby/messages?limit=10');
  expect(items.map(({ from }: { from: string }) => from)).toEqual(['frank', 'bill', 'frank']);
  await other.close();
});

test('makes a chat of its own', async () => {
  await area('Chats');
  await button('New chat').click();
  await page.getByLabel('Creator').fill('jack451');
  await page.getByRole('dialog').getByRole('textbox', { name: /^Id/ }).fill('garage');
  await page.getByLabel('Other members').fill('frank, bill');
  await page.getByLabel('First message').fill('At eight?');
  await submit('Create').click();
  await page.getByText('At eight?').waitFor();
  await page.getByLabel('Message').fill('Or at nine?');
  await button('Post').click();
  await page.getByText('Or at nine?').waitFor();
  await area('Access');
  await page.getByRole('link', { name: 'Audit log' }).click();
  await page.getByText('POST /v1/chats', { exact: true }).first().waitFor();
  const { items } = await get('chats/garage/members');
  expect(
    items
      .map(({ member }: { member: string }) => member)
      .toSorted((a: string, b: string) => a.localeCompare(b)),
  ).toEqual(['bill', 'frank', 'jack451']);
});
