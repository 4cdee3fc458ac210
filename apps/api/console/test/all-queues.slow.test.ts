/** All queues together: what they get done, who works on them, and all of them at once. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { Worker } from '@mortise/queues';
import { connect, until } from '@mortise/test-kit';
import type { Locator } from 'playwright-core';

import { visit } from './fixture/browser.js';
import { openConsole } from './fixture/console.js';

const { service, opened, page, button, submit } = await openConsole();
const redis = connect();

afterEach(() => expect(opened.troubles).toEqual([]));

/** The value of a number of the overview, and the text below it. */
const figure = (label: string): { readonly value: Locator; readonly note: Locator } => {
  const texts = page.locator('.figure', { has: page.getByText(label, { exact: true }) }).locator('dd');
  return { value: texts.first(), note: texts.last() };
};

describe('the overview', () => {
  test('has what all queues get done each second, and the workers that run', async () => {
    await visit(page, service, 'overview');
    await page.getByText('none runs').waitFor();
    expect(await figure('Done a second').value.innerText()).toBe('0');
    const handlers = { ok: () => 1, fail: () => Promise.reject(new Error('no')) };
    const options = { prefix: service.prefix, onFailed: () => undefined };
    const worker = new Worker(redis, ['one', 'two'], handlers, options);
    await worker.start();
    const tasks = (name: string): object => ({
      tasks: Array.from({ length: 50 }, () => ({ name, payload: 1, attempts: 1 })),
    });
    await service.done('POST', 'queues/one/task-batches', tasks('ok'));
    await service.done('POST', 'queues/two/task-batches', tasks('fail'));
    await page.getByText('5 failed for good').waitFor();
    expect(Number(await figure('Done a second').value.innerText())).toBeGreaterThan(0);
    const { sums, workers } = await service.done('GET', 'overview');
    expect([sums.counts.succeeded, sums.counts.dead, workers]).toEqual([50, 50, 1]);
    expect(await figure('Workers').value.innerText()).toBe('1');
    await page.getByRole('link', { name: 'why: two' }).waitFor();
    await worker.stop();
    await page.getByText('none runs').waitFor();
    // Its chart came back to nothing.
    await until('ten seconds later', async () => (await figure('Done a second').value.innerText()) === '0');
    await page.getByText('Ends a second as a table').click();
    const table = page.getByRole('region', { name: 'Ends a second', exact: true });
    expect(await table.locator('tbody tr').count()).toBeGreaterThan(2);
  });

  test('has the slots of a Cluster, and the keys that Redis has evicted', async () => {
    await visit(page, service, 'overview');
    await page.getByText('1 master').waitFor();
    expect(await figure('Slots of the Cluster').value.innerText()).toBe('all');
    const { nodes } = await service.done('GET', 'redis');
    expect(await figure('Evicted keys').value.innerText()).toBe(String(nodes[0].evictedKeys));
  });

  test('pauses all queues after a dialog with their number, and resumes them', async () => {
    await service.enqueue('three', 'a', 1);
    await visit(page, service, 'overview');
    const { total } = await service.done('GET', 'overview');
    const pausedQueues = async (): Promise<number> => (await service.done('GET', 'overview')).sums.paused;
    await button('Pause all').click();
    await submit(`Pause ${total} queues`).click();
    await page.getByText(`${total} queues are paused: workers start none of their tasks.`).waitFor();
    expect(await pausedQueues()).toBe(total);
    await button('Resume all').click();
    await submit(`Resume ${total} queues`).click();
    await page.getByText('workers start none').waitFor({ state: 'detached' });
    expect(await pausedQueues()).toBe(0);
  });
});

test('a queue tells its waiting tasks by priority, and when delayed ones become due', async () => {
  await service.done('PUT', 'queues/deep', { priorities: ['urgent', 'calm'] });
  const add = (priority: string, delayMs: number): Promise<unknown> =>
    service.done('POST', 'queues/deep/tasks', { name: 'a', payload: 1, priority, delayMs });
  await add('urgent', 0);
  await add('calm', 120_000);
  await visit(page, service, 'queues/deep');
  await page.getByRole('link', { name: 'Waiting', exact: true }).click();
  const priorities = page.getByRole('region', { name: 'By priority' });
  const row = (name: string): Promise<string> => priorities.locator(`[data-id="${name}"]`).innerText();
  await priorities.getByText('urgent').waitFor();
  expect([await row('urgent'), await row('calm')].map((text) => text.split(/\s+/))).toEqual([
    ['urgent', '1', '0', '0'],
    ['calm', '0', '1', '0'],
  ]);
  const span = page.getByRole('row', { name: /^1 min to 5 min 1 / });
  await span.waitFor();
  // Another one comes by the stream.
  await page.getByText('Live', { exact: true }).waitFor();
  await add('calm', 200_000);
  await page.getByRole('row', { name: /^1 min to 5 min 2 / }).waitFor();
});

describe('more queues than the overview lists', () => {
  const COUNT = 120;
  const names = Array.from({ length: COUNT }, (_, index) => `many-${String(index).padStart(3, '0')}`);
  beforeAll(async () => {
    for (const name of names) await service.enqueue(name, 'a', 1);
  });
  afterAll(() => page.unrouteAll());

  test('are in the sums of the overview, which leads to all of them', async () => {
    await visit(page, service, 'overview');
    await page.getByText(/^The first 100 of \d+ queues/).waitFor();
    const { total, counted, sums } = await service.done('GET', 'overview');
    expect([counted, sums.counts.ready >= COUNT]).toEqual([total, true]);
    expect(await page.getByText('The figures are those of the first').count()).toBe(0);
    await page.getByRole('link', { name: 'All queues' }).click();
    await page.getByRole('heading', { name: 'Queues' }).waitFor();
  });

  test('come by another page of the list, whose first numbers change by themselves', async () => {
    await visit(page, service, 'queues');
    await page.getByRole('link', { name: names[0]! }).waitFor();
    expect(await page.getByRole('link', { name: names.at(-1)! }).count()).toBe(0);
    await page.getByText('Live', { exact: true }).waitFor();
    await button('More').click();
    await page.getByRole('link', { name: names.at(-1)! }).waitFor();
    const { total } = await service.done('GET', 'overview');
    expect(await page.locator('main tbody tr').count()).toBe(total);
    await page.getByText('queues are those of when they were read.').waitFor();
    await service.enqueue(names[0]!, 'a', 1);
    await page.getByRole('row', { name: new RegExp(`^${names[0]} 2 `) }).waitFor();
  });

  test('are paused all, by pages', async () => {
    await visit(page, service, 'queues');
    const { total } = await service.done('GET', 'overview');
    const asked: string[] = [];
    page.on('request', (request) => asked.push(request.url()));
    // As if a page had fewer.
    await page.route(/queues\?limit=200/, (route) =>
      route.continue({ url: route.request().url().replace('limit=200', 'limit=50') }),
    );
    await button('Pause all').click();
    await submit(`Pause ${total} queues`).click();
    await page.getByText(`${total} queues paused.`).waitFor();
    expect((await service.done('GET', 'overview')).sums.paused).toBe(total);
    expect(asked.filter((url) => url.includes('cursor=')).length).toBeGreaterThan(1);
  });
});
