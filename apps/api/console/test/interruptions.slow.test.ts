/** The page catches up after an interruption: a killed API, a hidden tab, an event before its stream. */
import { afterEach, expect, test } from '@jest/globals';
import { until } from '@mortise/test-kit';

import { visit } from './fixture/browser.js';
import { openConsole } from './fixture/console.js';
import { Service } from './fixture/service.js';

const { service, opened, page } = await openConsole();

afterEach(() => expect(opened.troubles).toEqual([]));

test('kill -9 of the API: the page says so, and shows afterwards what happened meanwhile', async () => {
  await visit(page, service, 'queues');
  await page.getByText('Live', { exact: true }).waitFor();
  await service.kill();
  await page.getByText('The API does not answer. The page may be old').waitFor();
  await service.start();
  await service.enqueue('meanwhile', 'a', 1);
  await page.getByRole('link', { name: 'meanwhile' }).waitFor();
  expect(await page.getByText('The page may be old').count()).toBe(0);
});

test('events of an outage are shown after it', async () => {
  await service.enqueue('outage', 'a', 1);
  await using other = new Service({ MORTISE_PREFIX: service.prefix });
  await other.start();
  await visit(page, service, 'queues/outage/events');
  await page.getByText('Live', { exact: true }).waitFor();
  let failures = 0;
  page.on('requestfailed', () => (failures += 1));
  await service.kill();
  await until('the page has tried again and again', async () => failures >= 4);
  const { id } = await other.done('POST', 'queues/outage/tasks', { name: 'a', payload: 2 });
  await service.start();
  await page.getByText(id).waitFor();
  expect(await page.getByText(id).count()).toBe(1);
});

test('figures whose read ended with the API are read again when it is back, without another event', async () => {
  await service.enqueue('figures', 'a', 1);
  await visit(page, service, 'queues/figures');
  await page.getByText('Live', { exact: true }).waitFor();
  const times = /queues\/figures\/times/;
  await page.route(times, async (route) => {
    await service.kill();
    await route.continue();
  });
  const failed = page.waitForEvent('requestfailed', (request) => times.test(request.url()));
  await service.enqueue('figures', 'a', 2);
  await failed;
  await page.unroute(times);
  const answered = page.waitForResponse((response) => times.test(response.url()));
  await service.start();
  expect((await answered).status()).toBe(200);
});

test('a message between the first look and the stream is shown', async () => {
  await service.done('POST', 'chats', {
    sender: 'ann',
    members: ['bob'],
    chatId: 'early',
    body: 'early bird',
  });
  let isLate = true;
  await page.route('**/v1/events?topics=member*', async (route) => {
    if (isLate) {
      isLate = false;
      await page.getByText('early bird').waitFor();
      await service.done('POST', 'chats/early/messages', { sender: 'ann', body: 'late bird' });
    }
    await route.continue();
  });
  await visit(page, service, 'chats/early');
  await page.getByText('late bird').waitFor();
  await page.unroute('**/v1/events?topics=member*');
  expect(isLate).toBe(false);
});

test('a hidden tab reads nothing, and goes on where it was', async () => {
  await service.enqueue('hidden', 'a', 1);
  await visit(page, service, 'queues/hidden/events');
  await page.getByText('Live', { exact: true }).waitFor();
  const hide = (isHidden: boolean): Promise<unknown> =>
    page.evaluate(
      `Object.defineProperty(document, 'hidden', { value: ${isHidden}, configurable: true }); document.dispatchEvent(new Event('visibilitychange'))`,
    );
  const first = await service.enqueue('hidden', 'a', 2);
  await page.getByText(first).waitFor();
  await hide(true);
  await page.getByText('Paused', { exact: true }).waitFor();
  const second = await service.enqueue('hidden', 'a', 3);
  await hide(false);
  await page.getByText(second).waitFor();
  expect(await page.getByText(first).count()).toBe(1);
});
