/** A console that is read-only offers no change, and its look changes nothing either. */
import { afterAll, expect, test } from '@jest/globals';

import { open, signIn, visit } from './fixture/browser.js';
import { openConsole } from './fixture/console.js';
import { Service } from './fixture/service.js';

const { service, browser } = await openConsole();
const readOnly = new Service({ CONSOLE: 'read-only', MORTISE_PREFIX: service.prefix });
await readOnly.start();
afterAll(() => readOnly.kill());
const { page, troubles } = await open(browser);
await signIn(page, readOnly);

const OFF = 'The events of this queue are off';

test('no action is offered', async () => {
  const id = await service.enqueue('shown', 'a', 1);
  await visit(page, readOnly, 'queues/shown');
  await page.getByText('This console is read-only.').waitFor();
  await page.getByRole('link', { name: id }).waitFor();
  expect(await page.getByRole('button', { name: /Pause|Enqueue|Delete|Reschedule/ }).count()).toBe(0);
  for (const place of ['chats', `queues/shown/tasks/${id}`, 'locks/any', 'mailboxes/any']) {
    await visit(page, readOnly, place);
    expect(await page.getByRole('button', { name: /New|Cancel|Release|Send/ }).count()).toBe(0);
  }
  expect(troubles).toEqual([]);
});

test('a look switches no events on, and the page says so', async () => {
  const id = await service.enqueue('unseen', 'a', 1);
  for (const place of ['queues/unseen', 'queues/unseen/events', `queues/unseen/tasks/${id}`]) {
    await visit(page, readOnly, place);
    await page.getByText(OFF).waitFor();
  }
  expect((await service.done('GET', 'queues/unseen')).keepEvents).toBe(0);
  expect(troubles).toEqual([]);
});

test('events that somebody switches on are followed, without a press or a reload', async () => {
  const id = await service.enqueue('woken', 'a', 1);
  for (const place of ['queues/woken', `queues/woken/tasks/${id}`]) {
    await service.done('PUT', 'queues/woken', { keepEvents: 0 });
    await visit(page, readOnly, place);
    await page.getByText(OFF).waitFor();
    await page.getByText('Live', { exact: true }).waitFor();
    await service.done('PUT', 'queues/woken', { keepEvents: 100 });
    await page.getByText(OFF).waitFor({ state: 'detached' });
  }
  await service.done('POST', `queues/woken/tasks/${id}/cancel`, {});
  await page.getByText('Cancelled', { exact: true }).waitFor();
  expect(troubles).toEqual([]);
});

test('events that are on are shown', async () => {
  await service.enqueue('seen', 'a', 1);
  await service.done('PUT', 'queues/seen', { keepEvents: 100 });
  await visit(page, readOnly, 'queues/seen');
  await page.getByText('Run, p50', { exact: true }).waitFor();
  await page.getByText('Live', { exact: true }).waitFor();
  await service.enqueue('seen', 'a', 2);
  await page.getByRole('link', { name: 'ready 2' }).waitFor();
  expect(await page.getByText(OFF).count()).toBe(0);
  expect(troubles).toEqual([]);
});
