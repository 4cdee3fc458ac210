/** Chats and mailboxes: what keeps messages, and what an operator does about it, checked against the API. */
import { afterEach, expect, test } from '@jest/globals';
import { until } from '@mortise/test-kit';
import type { Locator } from 'playwright-core';

import { visit } from './fixture/browser.js';
import { openConsole } from './fixture/console.js';

const { service, opened, page, button, submit } = await openConsole();

/** No action may leave an error behind. */
afterEach(() => expect(opened.troubles).toEqual([]));

const row = (name: string): Locator => page.getByRole('row', { name: new RegExp(`^${name} `) });
const figure = (label: string): Locator =>
  page.locator('dl.figure').filter({ has: page.getByText(label, { exact: true }) });

test('a chat says what it stores and who keeps it; its oldest messages are trimmed', async () => {
  await service.done('POST', 'chats', { sender: 'ann', members: ['bob'], chatId: 'long', body: 0 });
  for (let n = 1; n < 5; n += 1)
    await service.done('POST', 'chats/long/messages', { sender: 'ann', body: `message ${n}` });
  await service.done('PUT', 'chats/long/members/bob/cursor', { upToId: 1 });
  await visit(page, service, 'chats/long');
  await figure('Stored').getByText('4 messages').waitFor();
  await figure('Stored')
    .getByText(/^the oldest sent/)
    .waitFor();
  await figure('Slowest member').getByText('4 messages').waitFor();
  await button('Trim').click();
  await submit('Delete 4 messages').waitFor();
  await page.getByLabel('Keep the newest').fill('1');
  await submit('Delete 3 messages').click();
  await page.getByText('3 messages deleted.').waitFor();
  await figure('Stored').getByText('1 message', { exact: true }).waitFor();
  const { items } = await service.done('GET', 'members/bob/pending');
  expect(items[0]).toMatchObject({ unread: 1, gap: { fromId: 2, toId: 4 } });
  expect(items[0].messages).toMatchObject([{ id: 5, body: 'message 4' }]);

  await row('bob').getByRole('button', { name: 'Advance' }).click();
  await submit('Ack 4 messages').click();
  await figure('Stored').getByText('all members have read all').waitFor();
  await figure('Last message').getByText('5', { exact: true }).waitFor();
  expect(await button('Trim').isDisabled()).toBe(true);
  expect(await service.done('GET', 'chats/long/messages')).toEqual({ items: [] });
});

test('a mailbox is trimmed for all devices; one is moved on, and one removed', async () => {
  await service.done('PUT', 'mailboxes/zoe/devices/laptop', {});
  await service.done('PUT', 'mailboxes/zoe/devices/phone', {});
  for (let n = 1; n < 6; n += 1)
    await service.done('POST', 'mailboxes/zoe/messages', { from: 'ann', body: `mail ${n}` });
  await service.done('POST', 'mailboxes/zoe/ack', { upToId: 1, device: 'laptop' });
  const cursors = async (): Promise<string> => {
    const { devices, size } = await service.done('GET', 'mailboxes/zoe');
    const each = devices
      .map(({ device, ackedId }: { device: string; ackedId: number }) => `${device} ${ackedId}`)
      .toSorted()
      .join(', ');
    return `${each}: ${size}`;
  };
  await visit(page, service, 'mailboxes/zoe');
  await page.getByRole('cell', { name: 'mail 1', exact: true }).waitFor();
  // The actions of a device are in sight.
  const table = page.getByRole('region', { name: 'Devices' });
  expect(await table.evaluate((shown) => shown.scrollWidth - shown.clientWidth)).toBe(0);
  await button('Trim').click();
  await page.getByLabel('Keep the newest').fill('3');
  // It stays for this dialog, which was opened before.
  await service.done('POST', 'mailboxes/zoe/messages', { from: 'ann', body: 'mail 6' });
  await submit('Delete 2 messages').click();
  await until('both are moved on', async () => (await cursors()) === 'laptop 2, phone 2: 4');

  await row('phone').getByRole('button', { name: 'Advance' }).click();
  await page.getByLabel('Up to the id').fill('5');
  await submit('Ack').click();
  await until('it is moved on', async () => (await cursors()) === 'laptop 2, phone 5: 4');
  await row('laptop').getByRole('button', { name: 'Remove' }).click();
  await page.getByRole('dialog').getByText('It has 4 unread messages.').waitFor();
  await submit('Remove').click();
  await row('laptop').waitFor({ state: 'detached' });
  expect(await cursors()).toBe('phone 5: 1');
  await page.getByRole('cell', { name: 'mail 6', exact: true }).waitFor();
});
