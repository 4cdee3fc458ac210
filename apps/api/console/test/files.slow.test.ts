/** A channel of files: what it keeps in Redis, for whom, and what an operator does about it, checked against the API. */
import { afterEach, expect, test } from '@jest/globals';
import { FileReceiver, FileSender } from '@mortise/messaging/files';
import { connect, until } from '@mortise/test-kit';
import type { Locator } from 'playwright-core';

import { visit } from './fixture/browser.js';
import { openConsole } from './fixture/console.js';

const { service, opened, page, button, submit } = await openConsole();
const redis = connect();

/** No action may leave an error behind. */
afterEach(() => expect(opened.troubles).toEqual([]));

const row = (table: string, name: string): Locator =>
  page.getByRole('region', { name: table }).getByRole('row', { name: new RegExp(`^${name} `) });
const figure = (label: string): Locator =>
  page.locator('dl.figure').filter({ has: page.getByText(label, { exact: true }) });
const status = (channel: string) => service.done('GET', `file-channels/${channel}`);

test('shows bytes, receivers and the straggler; skips, drops, sends again and removes', async () => {
  const { prefix } = service;
  const receivers = ['fast', 'slow'];
  const sender = new FileSender(redis, 'logs', { prefix, receivers });
  await sender.send(Buffer.alloc(3_000), { name: 'a.log' });
  await sender.send(Buffer.alloc(2_000), { name: 'b.log' });
  await service.done('POST', 'files/logs:1/acks', { receiver: 'fast', isDone: true });
  await service.done('POST', 'files/logs:2/acks', { receiver: 'slow', upTo: 500 });

  await visit(page, service, 'files/logs');
  const { storedBytes } = await status('logs');
  expect(storedBytes).toBe(3_016 + 2_016);
  await figure('In Redis').getByText('4.9 KiB').waitFor();
  await row('Receivers', 'slow').getByText('straggler').waitFor();
  expect(await row('Receivers', 'fast').getByText('straggler').count()).toBe(0);
  expect(await row('Receivers', 'slow').getByRole('cell').allInnerTexts()).toEqual([
    expect.stringContaining('slow'),
    'active',
    '2',
    '4.4 KiB',
    '1 file',
    'Remove',
  ]);
  await row('Files', 'b.log').getByText('500 B of 2.0 KiB').waitFor();
  // The bars have room beside the names and the figures.
  expect((await row('Files', 'b.log').locator('.bar').first().boundingBox())!.width).toBeGreaterThan(40);

  await row('Files', 'a.log').getByRole('button', { name: 'Skip' }).click();
  await submit('Skip').click();
  await row('Files', 'a.log').waitFor({ state: 'detached' });
  expect(await status('logs')).toMatchObject({ listed: 1, storedBytes: 2_016 });
  await row('Files', 'b.log').getByRole('button', { name: 'Drop' }).click();
  await page
    .getByRole('dialog')
    .getByText(/^2 receivers not done with it/)
    .waitFor();
  await submit('Drop').click();
  await page.getByText('Nothing is left to receive.').waitFor();
  expect((await service.call('GET', 'files/logs:2')).status).toBe(404);

  await button('Send a file').click();
  await page
    .getByLabel('File', { exact: true })
    .setInputFiles({ name: 'b.log', mimeType: 'text/plain', buffer: Buffer.from('again') });
  await submit('Send').click();
  await row('Files', 'b.log').waitFor();
  expect((await status('logs')).files).toMatchObject([{ number: 3, name: 'b.log', bytes: 5, pending: 2 }]);
  await row('Receivers', 'slow').getByRole('button', { name: 'Remove' }).click();
  await page.getByRole('dialog').getByText('It is not done with 1 file.').waitFor();
  await submit('Remove').click();
  await row('Receivers', 'slow').waitFor({ state: 'detached' });
  expect((await status('logs')).receivers).toMatchObject([{ receiver: 'fast' }]);
});

test('an open page follows the progress, the receivers and the end of a channel', async () => {
  const { prefix } = service;
  const sender = new FileSender(redis, 'followed', { prefix, receivers: ['one'] });
  await sender.send(Buffer.alloc(1_000), { name: 'a.log' });
  await visit(page, service, 'files/followed');
  await row('Files', 'a.log').getByText('0 B of 1000 B').waitFor();
  await row('Receivers', 'one').getByText('away').waitFor();
  await service.done('POST', 'files/followed:1/acks', { receiver: 'one', upTo: 400 });
  await row('Files', 'a.log').getByText('400 B of 1000 B').waitFor();
  await row('Receivers', 'one').getByText('active').waitFor();
  await service.done('PUT', 'file-channels/followed/receivers/two');
  await row('Receivers', 'two').waitFor();
  await service.done('DELETE', 'file-channels/followed/receivers/two');
  await row('Receivers', 'two').waitFor({ state: 'detached' });
  await service.done('POST', 'files/followed:1/acks', { receiver: 'one', isDone: true });
  await page.getByText('Nothing is left to receive.').waitFor();
  await service.done('POST', 'file-channels/followed/end');
  await figure('Receivers').getByText('the channel has ended').waitFor();
  expect(await status('followed')).toMatchObject({ isEnded: true, listed: 0 });
});

test('looking at a channel holds up no receiver', async () => {
  const { prefix } = service;
  const sender = new FileSender(redis, 'watched', { prefix, receivers: ['counter'] });
  await sender.send(Buffer.alloc(1_000), { name: 'a.log' });
  await visit(page, service, 'files/watched');
  await row('Receivers', 'counter').getByText('away').waitFor();
  // With a lease of somebody else it would wait for a minute.
  const files = new FileReceiver(redis, 'watched', 'counter', { prefix }).files();
  const { value: file } = await files.next();
  await row('Receivers', 'counter').getByText('active').waitFor();
  for await (const block of file!.blocks()) expect(block.length).toBe(1_000);
  await file!.done();
  await files.return();
  await until('it is done', async () => (await status('watched')).listed === 0);
  await page.getByText('Nothing is left to receive.').waitFor();
});
