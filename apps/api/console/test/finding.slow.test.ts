/** The palette finds existing names, and empty pages say what to do next. */
import { describe, expect, test } from '@jest/globals';
import { dayKeys } from '@mortise/messaging/log-aggregation';
import { connect } from '@mortise/test-kit';

import { open, visit } from './fixture/browser.js';
import { openConsole } from './fixture/console.js';

const { service, browser, opened, page } = await openConsole();

test('an overview without a queue offers to enqueue the first task', async () => {
  await visit(page, service, 'overview');
  await page.getByText('There is no queue yet.').waitFor();
  await page.getByRole('button', { name: 'Enqueue a task' }).click();
  await page.getByRole('textbox', { name: 'Queue', exact: true }).fill('first');
  await page.getByRole('textbox', { name: 'Name decides' }).fill('a');
  await page.getByRole('dialog').getByRole('button', { name: 'Enqueue' }).click();
  await page.getByRole('heading', { name: /first \/ a/ }).waitFor();
  expect((await service.done('GET', 'queues/first')).counts.ready).toBe(1);
});

describe('the palette', () => {
  const type = async (text: string): Promise<void> => {
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox', { name: 'Where to' }).fill(text);
  };
  const titles = (): Promise<string[]> => page.getByRole('dialog').getByRole('option').allInnerTexts();

  test('has the names that exist, and no guess of a kind whose names are all known', async () => {
    await service.done('POST', 'chats', { sender: 'ann', members: [], chatId: 'guild-42', body: 'hi' });
    await service.done('PUT', 'caches/guild-42/entries/a', { value: 1, tags: ['t'] });
    await service.done('POST', 'locks/guild-42/acquire', { leaseMs: 60_000 });
    await visit(page, service, 'overview');
    await type('guild');
    await page.getByRole('option', { name: 'guild-42 chat' }).waitFor();
    await page.getByRole('option', { name: 'guild-42 cache' }).waitFor();
    await page.getByRole('option', { name: 'guild-42 lock' }).waitFor();
    await page.getByRole('option', { name: 'guild chat, if there is one' }).waitFor({ state: 'detached' });
    await page.getByRole('option', { name: 'guild mailbox, if there is one' }).waitFor({ state: 'detached' });
    const shown = (await titles()).map((title) => title.replaceAll(/\s+/g, ' '));
    // A free lock is in no list.
    expect(shown.slice(0, 3).every((title) => title.startsWith('guild-42'))).toBe(true);
    expect(shown).toContain('guild lock, if there is one');
    await page.getByRole('option', { name: 'guild-42 chat' }).click();
    await page.getByRole('heading', { name: /guild-42/ }).waitFor();
    expect(page.url()).toContain('/chats/guild-42');
  });

  test('gets the letters that follow its key at once', async () => {
    await visit(page, service, 'overview');
    // No wait for the field: somebody who types fast waits for nothing either.
    for (const text of ['mail', 'lobby', 'till', 'stock']) {
      await page.keyboard.press('Control+k');
      await page.keyboard.type(text);
      expect(await page.getByRole('combobox', { name: 'Where to' }).inputValue()).toBe(text);
      await page.keyboard.press('Escape');
      await page.getByRole('dialog').waitFor({ state: 'hidden' });
    }
  });

  test('has first what begins with the text, also before an area', async () => {
    await service.done('POST', 'chats', { sender: 'ann', members: [], chatId: 'lobby', body: 'hi' });
    await visit(page, service, 'overview');
    await type('lo');
    await page.getByRole('option', { name: 'lobby chat' }).waitFor();
    const shown = (await titles()).map((title) => title.replaceAll(/\s+/g, ' '));
    expect(shown.slice(0, 2)).toEqual(['Locks area', 'lobby chat']);
    expect(shown[2]).toBe('Read-write locks area');
    await page.keyboard.press('Escape');
  });

  test('guesses, and says so, where the key lists no names', async () => {
    const { key } = await service.done('PUT', 'admin/keys/reader', {
      scopes: ['messaging:read', 'locks:read'],
    });
    const narrow = await open(browser);
    await narrow.page.goto(`${service.url}/console/chats#key=${key}`);
    await narrow.page.locator('main h1').first().waitFor();
    await narrow.page.keyboard.press('Control+k');
    await narrow.page.getByRole('combobox', { name: 'Where to' }).fill('guild-42');
    await narrow.page.getByRole('option', { name: 'guild-42 chat, if there is one' }).waitFor();
    expect(await narrow.page.getByRole('option', { name: 'guild-42 cache' }).count()).toBe(0);
    expect(narrow.troubles).toEqual([]);
    await narrow.close();
  });

  test('says when nothing has the name', async () => {
    const { key } = await service.done('PUT', 'admin/keys/operator', {
      scopes: ['messaging:read', 'ops:read'],
    });
    const other = await open(browser);
    await other.page.goto(`${service.url}/console/chats#key=${key}`);
    await other.page.locator('main h1').first().waitFor();
    await other.page.keyboard.press('Control+k');
    await other.page.getByRole('combobox', { name: 'Where to' }).fill('nowhere');
    await other.page.getByText('Nothing has this name.').waitFor();
    expect(await other.page.getByRole('option').count()).toBe(0);
    await other.close();
  });
});

test('the lines of access logs are a chart over two weeks, beside the places of the day', async () => {
  const redis = connect();
  const lines = { '2026-11-20': 13, '2026-11-18': 40, '2026-11-06': 99 };
  for (const [day, total] of Object.entries(lines)) {
    const keys = dayKeys(service.prefix, day);
    await redis.set(keys.total, total);
    await redis.zadd(keys.country, total, 'DE');
  }
  await visit(page, service, 'aggregates?day=2026-11-20');
  await page.locator('.plot canvas').waitFor();
  await page.getByText('Lines by day as a table').click();
  const rows = await page.locator('.chart details tbody tr').allInnerTexts();
  expect(rows.slice(0, 3)).toEqual(['20 Nov\t13', '19 Nov\t0', '18 Nov\t40']);
  expect([rows.length, rows.at(-1)]).toEqual([14, '7 Nov\t0']);
  await page.getByRole('region', { name: 'Places' }).getByText('DE').waitFor();
  expect(opened.troubles).toEqual([]);
});

test('an overview of some of the queues says so, beside its figures', async () => {
  const { Queue } = await import('@mortise/queues');
  const [redis, prefix] = [connect(), { prefix: service.prefix }];
  const names = Array.from({ length: 1_001 }, (_, number) => `many-${number}`);
  await Promise.all(names.map((name) => new Queue(redis, name, prefix).enqueue('a', 1)));
  const { total, counted, queues } = await service.done('GET', 'overview');
  expect([counted, queues.length]).toEqual([1_000, 100]);
  await visit(page, service, 'overview');
  await page.getByText(`those of the first 1,000 of ${total.toLocaleString('en')} queues.`).waitFor();
  expect(opened.troubles).toEqual([]);
});
