/** The page follows what happens, as it happens. */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { describe, expect, test } from '@jest/globals';
import { until } from '@mortise/test-kit';

import { open, signIn, visit } from './fixture/browser.js';
import { openConsole } from './fixture/console.js';
import { Service } from './fixture/service.js';

const { service, browser, page } = await openConsole();

const fixture = (name: string): string => fileURLToPath(new URL(`fixture/${name}`, import.meta.url));

describe('a paused list of events', () => {
  test('stays as it is, counts what comes, and shows that afterwards', async () => {
    await service.enqueue('paused', 'a', 0);
    await visit(page, service, 'queues/paused/events');
    await page.getByText('Live', { exact: true }).waitFor();
    const before = await service.enqueue('paused', 'a', 1);
    await page.getByText(before).waitFor();
    await page.getByRole('button', { name: 'Pause the list' }).click();
    const ids = [await service.enqueue('paused', 'a', 2), await service.enqueue('paused', 'a', 3)];
    await page.getByText('Paused. 2 events since.').waitFor();
    expect(await page.locator('main tbody tr').count()).toBe(1);
    await page.getByRole('button', { name: 'Go on' }).click();
    for (const id of ids) await page.getByText(id).waitFor();
    expect(await page.locator('main tbody tr').count()).toBe(3);
  });

  test('keeps the last 200, and says so', async () => {
    await service.enqueue('many', 'a', 0);
    await visit(page, service, 'queues/many/events');
    await page.getByText('Live', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Pause the list' }).click();
    const tasks = Array.from({ length: 250 }, (_, n) => ({ name: 'a', payload: n }));
    await service.done('POST', 'queues/many/task-batches', { tasks });
    await page.getByText('Paused. 250 events since, of which the last 200 will be shown.').waitFor();
    await page.getByText('No event yet.').waitFor();
    await page.getByRole('button', { name: 'Go on' }).click();
    await page.locator('main tbody tr').nth(199).waitFor();
    expect(await page.locator('main tbody tr').count()).toBe(200);
  });
});

test('a list of which more was read stays where it is, also when it is being read again', async () => {
  const tasks = Array.from({ length: 120 }, (_, n) => ({ name: 'a', payload: n }));
  await service.done('POST', 'queues/long/task-batches', { tasks });
  await visit(page, service, 'queues/long');
  await page.getByText('Live', { exact: true }).waitFor();
  const rows = page.locator('main tbody tr');
  await rows.nth(49).waitFor();
  let reads = 0;
  let isRead = (): void => undefined;
  const late = new Promise<void>((resolve) => {
    isRead = resolve;
  });
  await page.route(/queues\/long\/tasks\?(?!.*cursor)/, async (route) => {
    reads += 1;
    await late;
    await route.continue();
  });
  await service.enqueue('long', 'a', 'an event');
  await until('another read', () => reads > 0);
  await page.getByRole('button', { name: 'More', exact: true }).click();
  await rows.nth(99).waitFor();
  const answer = page.waitForResponse(/queues\/long\/tasks\?(?!.*cursor)/);
  isRead();
  await (await answer).finished();
  await page.getByRole('link', { name: 'ready 121' }).waitFor();
  await page.unrouteAll();
  expect(await rows.count()).toBe(100);
});

test('the progress of an operation comes by the stream, without a request', async () => {
  const tasks = Array.from({ length: 600 }, (_, n) => ({ name: 'a', payload: n }));
  await service.done('POST', 'queues/operated/task-batches', { tasks });
  await visit(page, service, 'queues/operated?q=state:ready');
  await page.getByText('Live', { exact: true }).waitFor();
  const asked: string[] = [];
  page.on('request', (request) => asked.push(`${request.method()} ${new URL(request.url()).pathname}`));
  await page.getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete 600 tasks' }).click();
  await page.getByText('Done: 600 deleted.').waitFor();
  expect(asked).toContain('POST /v1/queues/operated/bulk-operations');
  expect(asked.filter((each) => each.includes('/operations/'))).toEqual([]);
  // The stream goes on with the queue.
  const id = await service.enqueue('operated', 'a', 1);
  await page.getByRole('link', { name: id }).waitFor();
});

test('the numbers of cached rows change by themselves', async () => {
  await using own = new Service({ MORTISE_PREFIX: service.prefix, CACHE_TABLES: 'stock' });
  await own.start();
  const other = await open(browser);
  await signIn(other.page, own, 'rows');
  await other.page.getByRole('link', { name: 'stock' }).waitFor();
  await own.done('PUT', 'cache/stock/rows/1', { refreshMs: 60_000 });
  await other.page.getByRole('row', { name: /stock 1 / }).waitFor();
  await other.page.getByRole('link', { name: 'stock' }).click();
  await own.done('PUT', 'cache/stock/rows/2', { refreshMs: 60_000 });
  await other.page.locator('.figure', { hasText: 'Scheduled' }).getByText('2', { exact: true }).waitFor();
  expect(other.troubles).toEqual([]);
  await other.close();
});

test('the chart of the overview is drawn when a number changes, not when time passes', async () => {
  const other = await open(browser);
  const overview = other.page;
  await overview.addInitScript(`
    globalThis.drawn = 0;
    const clear = CanvasRenderingContext2D.prototype.clearRect;
    CanvasRenderingContext2D.prototype.clearRect = function (...rectangle) {
      globalThis.drawn += 1;
      return clear.apply(this, rectangle);
    };`);
  // The age of a task that waits is in each snapshot.
  await service.enqueue('drawn', 'a', 1);
  await signIn(overview, service, 'overview');
  await overview.locator('.plot canvas').nth(1).waitFor();
  const age = overview.locator('.figure', { hasText: 'Oldest ready task' }).locator('dd').first();
  const drawn = (): Promise<number> => overview.evaluate<number>('globalThis.drawn');
  // All snapshots after these are of the same numbers.
  const [first, before] = [await age.innerText(), await drawn()];
  await until('another age', async () => (await age.innerText()) !== first);
  const second = await age.innerText();
  await until('one more', async () => (await age.innerText()) !== second);
  expect([before > 0, (await drawn()) - before]).toEqual([true, 0]);
  await service.enqueue('drawn', 'a', 2);
  await until('the chart has changed', async () => (await drawn()) > before);
  await overview.setViewportSize({ width: 700, height: 800 });
  const table = overview.getByRole('region', { name: 'Tasks by state' });
  await overview.getByText('Tasks by state as a table').click();
  expect(await table.locator('tbody tr').count()).toBeGreaterThan(2);
  await other.close();
});

test('a page of more topics than a stream has follows ten, and says so', async () => {
  const { stdout: body } = await promisify(execFile)(process.execPath, [
    fixture('bundle.js'),
    fixture('many-topics.js'),
  ]);
  const many = await page.context().newPage();
  await many.route('**/console/many.js', (route) => route.fulfill({ contentType: 'text/javascript', body }));
  await many.route('**/console/many', (route) =>
    route.fulfill({ contentType: 'text/html', body: '<body><script type="module" src="many.js"></script>' }),
  );
  const follows = many.waitForRequest(/v1\/events/);
  await many.goto(`${service.url}/console/many#12`);
  await many.getByText('2 parts of this one will not change by itself.').waitFor();
  const topics = new URL((await follows).url()).searchParams.get('topics')!.split(',');
  expect([topics.length, new Set(topics).size]).toEqual([10, 10]);
  await many.goto('about:blank');
  const followsAgain = many.waitForRequest(/v1\/events/);
  await many.goto(`${service.url}/console/many#10`);
  await followsAgain;
  expect(await many.getByText('will not change').count()).toBe(0);
  await many.close();
});

test('a page of a queue that is not there says only that, and follows nothing', async () => {
  const streams: string[] = [];
  const note = (request: { url: () => string }): void => {
    if (request.url().includes('/v1/events')) streams.push(request.url());
  };
  page.on('request', note);
  await visit(page, service, 'queues/nothing-here');
  await page.getByText('There is no queue nothing-here.').waitFor();
  await page.waitForLoadState('networkidle');
  page.off('request', note);
  expect(streams).toEqual([]);
  expect(await page.locator('.live').innerText()).toBe('');
  expect(await page.getByText('The page may be old').count()).toBe(0);
});
