/** Locks, semaphores, read-write locks and rate limits: their pages and lists change by themselves. */
import { afterEach, expect, test } from '@jest/globals';
import { until } from '@mortise/test-kit';
import type { Locator } from 'playwright-core';

import { visit } from './fixture/browser.js';
import { openConsole } from './fixture/console.js';

const { service, opened, page, button, submit } = await openConsole();

/** No page may leave an error behind. */
afterEach(() => expect(opened.troubles).toEqual([]));

const figure = (label: string): Locator => page.locator('.figure', { hasText: label });
const row = (name: string): Locator => page.getByRole('row', { name: new RegExp(`^${name} `) });

/** Requests of the page from now on, without the stream. */
function requests(): string[] {
  const sent: string[] = [];
  page.on('request', (request) => {
    const { pathname } = new URL(request.url());
    if (pathname !== '/v1/events') sent.push(`${request.method()} ${pathname}`);
  });
  return sent;
}

/** The part of the bar that is full, in percent. */
async function shareOf(bar: Locator): Promise<number> {
  return Number.parseFloat((await bar.locator('.bar > span').getAttribute('style'))!.replace('width:', ''));
}

test('a lock shows its owner, how long the first one waits, and its lease as a bar that moves and is renewed', async () => {
  const lease = { leaseMs: 20_000, owner: 'mailer-3' };
  const { holder } = await service.done('POST', 'locks/till/acquire', lease);
  await visit(page, service, 'locks/till');
  await figure('State').getByText('mailer-3', { exact: true }).waitFor();
  await page.getByText('Live', { exact: true }).waitFor();
  const sent = requests();
  const bar = figure('Lease');
  await until('the bar to move', async () => (await shareOf(bar)) < 90);
  const before = await shareOf(bar);
  await service.done('POST', 'locks/till/renew', { holder, leaseMs: 20_000 });
  await until('the renewal', async () => (await shareOf(bar)) > before);
  const waiting = service.done('POST', 'locks/till/acquire', { ...lease, owner: 'mailer-4', waitMs: 30_000 });
  await figure('Waiting').getByText('1', { exact: true }).waitFor();
  await figure('Waiting')
    .getByText(/^the first for /)
    .waitFor();
  await page.getByText('0 changes', { exact: true }).waitFor();
  await service.done('POST', 'locks/till/release', { holder });
  await waiting;
  await figure('State').getByText('mailer-4', { exact: true }).waitFor();
  await page.getByText('1 change', { exact: true }).waitFor();
  expect(sent).toEqual([]);
  expect((await service.done('GET', 'locks/till')).owner).toBe('mailer-4');
});

test('the lists of locks, semaphores, rate limits and names change by themselves', async () => {
  const taken = { limit: 4, periodMs: 86_400_000 };
  const lists = [
    ['locks', 'locks/listed/acquire', { leaseMs: 60_000, owner: 'robot' }, /^listed robot /],
    ['semaphores', 'semaphores/listed/acquire', { permits: 2, leaseMs: 60_000 }, /^listed 1 of 2 /],
    ['rate-limits', 'rate-limiters/listed/take', taken, /^listed 4 in 1 d 3 of 4 /],
    ['read-write-locks', 'read-write-locks/listed/acquire', { mode: 'read' }, /^listed$/],
    ['chats', 'chats', { sender: 'ann', members: [], chatId: 'listed', body: 1 }, /^listed$/],
  ] as const;
  for (const [place, target, body, shown] of lists) {
    await visit(page, service, place);
    await page.getByText('Live', { exact: true }).waitFor();
    expect([place, await page.getByRole('row', { name: shown }).count()]).toEqual([place, 0]);
    await service.done('POST', target, body);
    await page.getByRole('row', { name: shown }).waitFor();
    expect([place, await button('Read again').count()]).toEqual([place, 0]);
  }
});

test('a semaphore and a read-write lock follow their holders', async () => {
  await service.done('PUT', 'semaphores/smtp', { permits: 3 });
  await visit(page, service, 'semaphores/smtp');
  await page.getByText('Nobody holds a permit.').waitFor();
  const lease = { permits: 3, take: 2, leaseMs: 60_000, owner: 'mailer-1' };
  const { holder } = await service.done('POST', 'semaphores/smtp/acquire', lease);
  await row('mailer-1').waitFor();
  await figure('Permits in use').getByText('2', { exact: true }).waitFor();
  await service.done('POST', 'semaphores/smtp/release', { holder });
  await page.getByText('Nobody holds a permit.').waitFor();

  await visit(page, service, 'read-write-locks/wiki');
  await figure('State').getByText('Free', { exact: true }).waitFor();
  const writer = await service.done('POST', 'read-write-locks/wiki/acquire', {
    mode: 'write',
    leaseMs: 60_000,
  });
  await figure('State').getByText('Written', { exact: true }).waitFor();
  await figure('Lease').locator('.bar').waitFor();
  await service.done('POST', 'read-write-locks/wiki/release', { holder: writer.holder });
  await figure('State').getByText('Free', { exact: true }).waitFor();
  expect((await service.done('GET', 'read-write-locks/wiki')).writer).toBeNull();
});

test('one holder of a semaphore loses its permits, the others keep theirs, and the audit log says who did it', async () => {
  const lease = { permits: 3, leaseMs: 60_000 };
  await service.done('POST', 'semaphores/taken/acquire', { ...lease, take: 2, owner: 'stuck-1' });
  const { holder } = await service.done('POST', 'semaphores/taken/acquire', { ...lease, owner: 'mailer-2' });
  await visit(page, service, 'semaphores/taken');
  await row('mailer-2').waitFor();
  await row('stuck-1').getByRole('button', { name: 'Force release' }).click();
  await page.getByRole('heading', { name: 'Take 2 permits of taken from its holder' }).waitFor();
  await submit('Release').click();
  await row('stuck-1').waitFor({ state: 'detached' });
  await row('mailer-2').waitFor();
  expect(await service.done('GET', 'semaphores/taken')).toMatchObject({ used: 1, holders: [{ holder }] });
  await until('the entry of the audit log', async () =>
    (await service.done('GET', 'admin/audit')).items.some(
      (entry: { path: string }) => entry.path === '/v1/semaphores/taken/force-release',
    ),
  );
});

test('an answer that is older than the last event changes nothing', async () => {
  const late = '**/v1/semaphores/late';
  const { holder } = await service.done('POST', 'semaphores/late/acquire', { permits: 3, owner: 'mailer-9' });
  const held: (() => Promise<void>)[] = [];
  await page.route(late, async (route) => {
    const json = await service.done('GET', 'semaphores/late');
    held.push(() => route.fulfill({ json }));
  });
  await visit(page, service, 'semaphores/late');
  await row('mailer-9').waitFor();
  await until('the page to ask', async () => held.length > 0);
  await service.done('POST', 'semaphores/late/release', { holder });
  await page.getByText('Nobody holds a permit.').waitFor();
  const answered = page.waitForEvent('requestfinished', (request) =>
    request.url().endsWith('/semaphores/late'),
  );
  for (const answer of held) await answer();
  await answered;
  await page.unroute(late);
  await page.evaluate(() => new Promise((resolve) => setTimeout(resolve, 100)));
  expect(await row('mailer-9').count()).toBe(0);
});

test('a rate limit has its permits, which come back without a request, and all of them after a reset', async () => {
  const terms = { limit: 30, periodMs: 60_000, burst: 10 };
  await service.done('POST', 'rate-limiters/mails/take', { ...terms, cost: 10 });
  await visit(page, service, 'rate-limits/mails');
  await figure('Limit').getByText('30 in 1 min, 10 at once').waitFor();
  await page.getByText('Live', { exact: true }).waitFor();
  const sent = requests();
  await figure('Permits left')
    .getByText(/^[1-9] of 10$/)
    .waitFor();
  expect(sent).toEqual([]);
  await service.done('POST', 'rate-limiters/mails/take', terms);
  await button('Reset').click();
  await submit('Reset').click();
  await figure('Permits left').getByText('All', { exact: true }).waitFor();
  expect(await service.done('GET', 'rate-limiters/mails')).toMatchObject({
    remaining: null,
    resetAfterMs: 0,
  });
});
