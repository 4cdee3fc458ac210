/** Dialogs can be read by everybody, in both schemes. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';

import { violationsOf } from './fixture/axe.js';
import { open, signIn, visit } from './fixture/browser.js';
import type { Opened } from './fixture/browser.js';
import { openConsole } from './fixture/console.js';
import { seed } from './fixture/seed.js';

const { service, browser } = await openConsole();
beforeAll(() => seed(service), 60_000);

describe.each(['light', 'dark'] as const)('in the %s scheme', (colorScheme) => {
  let opened: Opened;
  beforeAll(async () => {
    opened = await open(browser, { colorScheme });
    await signIn(opened.page, service);
  });
  afterAll(() => opened.close());

  test.each([
    ['chats', 'New chat'],
    ['overview', 'Enqueue a task'],
    ['queues/reports', 'Reschedule'],
    ['queues/reports/settings', 'Remove the queue'],
    ['locks/item-42', 'Force release'],
    ['mailboxes/frank', 'Send a message'],
    ['access', 'Make a key'],
    ['access', 'Rotate'],
    ['access/tenants', 'Add a tenant'],
    ['chats/lunch', 'Advance'],
    ['queues', 'Pause all'],
    ['market', 'Buy'],
    ['overview', /^Go to/],
  ])('%s: %s', async (place, name) => {
    const { page, troubles } = opened;
    await visit(page, service, place);
    await page.getByRole('button', { name }).first().click();
    await page.getByRole('dialog').waitFor();
    expect(await violationsOf(page)).toEqual([]);
    expect(troubles).toEqual([]);
  });
});

test('a dialog says why it failed, until the next try', async () => {
  const { page, troubles, close } = await open(browser);
  await signIn(page, service, 'queues/reports');
  await page.getByRole('button', { name: 'Enqueue a task' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('textbox', { name: 'Name' }).fill('a');
  const send = dialog.getByRole('button', { name: 'Enqueue' });
  for (const [payload, says] of [
    ['{ no', 'The payload is not JSON.'],
    ['{"n":9007199254740993}', 'would be rounded'],
  ] as const) {
    await dialog.getByRole('textbox', { name: 'Payload' }).fill(payload);
    await send.click();
    await dialog.getByRole('alert').getByText(says).waitFor();
    expect(await violationsOf(page)).toEqual([]);
  }
  expect(await page.locator('.toast').count()).toBe(0);
  await dialog.getByRole('textbox', { name: 'Payload' }).fill('{}');
  const priority = dialog.getByRole('textbox', { name: 'Priority' });
  await priority.fill('nosuch');
  await send.click();
  await dialog.getByRole('alert').getByText('priority: must be one of high, medium, low').waitFor();
  expect(await dialog.getByText('rounded').count()).toBe(0);
  await priority.fill('');
  await send.click();
  await page.getByRole('heading', { name: /reports \/ a/ }).waitFor();
  expect(troubles).toEqual([]);
  await close();
});
