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
  }, 30_000);
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
