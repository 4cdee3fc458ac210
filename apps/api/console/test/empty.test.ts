/** A page without data says once what is not there, and what to do next. */
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import { afterEach, expect, test } from '@jest/globals';

import { violationsOf } from './fixture/axe.js';
import { visit } from './fixture/browser.js';
import { openConsole } from './fixture/console.js';

const { service, opened, page } = await openConsole();
const REPOSITORY = 'https://github.com/mortise-js/mortise/blob/main/';
const ROOT = fileURLToPath(new URL('../../../../', import.meta.url));
/** Shorter than any advice. */
const SHORT = 20;

afterEach(() => expect(opened.troubles).toEqual([]));

test.each([
  ['overview', 'There is no queue yet.'],
  ['queues/nosuch', 'There is no queue nosuch.'],
  ['chats/nosuch?as=ann', 'There is no such chat.'],
  ['semaphores/free', 'Nobody holds a permit.'],
  ['mailboxes/nobody', 'Everything is read.'],
  ['market', 'Nothing is for sale.'],
  ['caches/products?key=lamp', 'It is not cached.'],
  ['books/contacts/nobody', 'nobody has no recent contact.'],
  ['nosuch', 'There is no such page.'],
])('%s', async (place, says) => {
  await visit(page, service, place);
  const empty = page.locator('.empty', { hasText: says });
  await empty.waitFor();
  expect((await empty.innerText()).length).toBeGreaterThan(says.length + SHORT);
  expect(await page.getByRole('alert').count()).toBe(0);
  expect(await page.getByRole('button', { name: 'Post' }).count()).toBe(0);
});

test.each([
  ['overview', 'There is no queue yet.', 'new Queue('],
  ['locks', 'No lock is held.', 'new Mutex('],
  ['semaphores', 'No permit is held.', 'new Semaphore('],
  ['read-write-locks', 'No read-write lock was held within a week.', 'new ReadWriteLock('],
  ['rate-limits', 'No rate limit is in use.', 'new RateLimiter('],
  ['chats', 'There is no chat.', 'new Chats('],
  ['members', 'Nobody is in a chat.', 'new Chats('],
  ['mailboxes', 'There is no mailbox.', 'new Mailboxes('],
  ['files', 'There is no channel.', 'new FileSender('],
  ['files/logs', 'The channel has no receiver.', "new FileSender(redis, 'logs'"],
  ['books', 'There is no address book.', 'new AddressBook('],
  ['books', 'Nobody has recent contacts.', 'new RecentContacts('],
  ['caches', 'No cache has changed within a day.', 'new Cache('],
  ['rows', 'No table is cached.', 'CACHE_TABLES='],
  ['aggregates', 'No line of this day is counted.', 'ACCESS_LOG_CHANNEL='],
])('%s: “%s” has a line to copy, and a guide', async (place, says, code) => {
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await visit(page, service, place);
  const empty = page.locator('.empty', { hasText: says });
  const line = await empty.locator('.snippet code').innerText();
  expect(line).toContain(code);
  expect(await violationsOf(page)).toEqual([]);
  await empty.getByRole('button', { name: 'Copy' }).click();
  await page.getByText('Copied.').first().waitFor();
  expect(await page.evaluate('navigator.clipboard.readText()')).toBe(line);
  const guide = await empty.getByRole('link', { name: 'Read the guide' }).getAttribute('href');
  expect(guide!.startsWith(REPOSITORY)).toBe(true);
  expect([guide, existsSync(ROOT + guide!.slice(REPOSITORY.length))]).toEqual([guide, true]);
});

test('the overview of queues in which nothing happens has a flat line, and its figures as a table', async () => {
  await service.done('PUT', 'queues/idle', {});
  await visit(page, service, 'overview');
  await page.getByRole('img', { name: 'Tasks by state' }).waitFor();
  await page.getByText('Tasks by state as a table').click();
  const cells = page.getByRole('region', { name: 'Tasks by state' }).locator('tbody td.number');
  expect((await cells.allInnerTexts()).slice(0, 6)).toEqual(Array.from({ length: 6 }, () => '0'));
  expect(await violationsOf(page)).toEqual([]);
});
