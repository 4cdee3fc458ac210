/** The time line of a task with steps, a sleep and a wait, in a real browser. */
import { afterEach, expect, test } from '@jest/globals';
import { Queue, Worker } from '@mortise/queues';
import type { Handlers } from '@mortise/queues';
import { connect, until } from '@mortise/test-kit';

import { visit } from './fixture/browser.js';
import { openConsole } from './fixture/console.js';

type Tasks = {
  order: { payload: { items: number }; result: string };
  nap: object;
};

const { service, opened, page, button, submit } = await openConsole();
const redis = connect();
const { prefix } = service;
const queue = new Queue<Tasks>(redis, 'orders', { prefix });
const handlers: Handlers<Tasks> = {
  order: async ({ items }, ctx) => {
    await ctx.step('charge the card', () => 'receipt 7');
    const { by } = await ctx.waitFor<{ by: string }>('approved', { timeoutMs: 86_400_000 });
    return ctx.step('pack', () => `${items} items, approved by ${by}`);
  },
  nap: (_, ctx) => ctx.sleep(3_600_000),
};

afterEach(() => expect(opened.troubles).toEqual([]));

const titles = (): Promise<string[]> => page.locator('ol.timeline li > strong').allTextContents();

test('the time line shows steps and a wait, and follows the delivery', async () => {
  await queue.eventsCursor();
  const { id } = await queue.enqueue('order', { items: 2 }, { attempts: 1 });
  await using worker = new Worker<Tasks>(redis, ['orders'], handlers, { prefix });
  await worker.start();
  await until('the task waits', async () => (await queue.get(id))?.waitsFor === 'approved');
  await visit(page, service, `queues/orders/tasks/${id}`);
  await page.getByText('Waits for approved until then').waitFor();
  expect(await titles()).toEqual([
    'Enqueued',
    'Attempt 1 started',
    'Step charge the card',
    expect.stringMatching(/^Waits for approved after /),
    'Waits for approved until then',
  ]);

  await button('Deliver event').click();
  await page.getByLabel('Payload').fill('{ "by": ann }');
  await submit('Deliver').click();
  await page.getByText('The payload is not JSON.').waitFor();
  await page.getByLabel('Payload').fill('{ "by": "ann" }');
  await submit('Deliver').click();
  await page.getByText('The event is delivered.').waitFor();
  await page.getByText('Step pack').waitFor();
  await page.getByText('2 items, approved by ann').waitFor();
  // The task and its events are two answers.
  await page.getByText(/^Succeeded after /).waitFor();
  const after = await titles();
  expect(after.slice(4)).toEqual([
    'Event approved delivered',
    'Attempt 1 started',
    'Step wait 1 approved',
    'Step pack',
    expect.stringMatching(/^Succeeded after /),
  ]);
  expect(await button('Deliver event').count()).toBe(0);
});

test('the time line shows a sleep', async () => {
  await queue.eventsCursor();
  const { id } = await queue.enqueue('nap', {});
  await using worker = new Worker<Tasks>(redis, ['orders'], handlers, { prefix });
  await worker.start();
  await until('the task sleeps', async () => (await queue.get(id))?.state === 'retrying');
  await visit(page, service, `queues/orders/tasks/${id}`);
  await page.getByText('Put off after').waitFor();
  expect(await titles()).toEqual([
    'Enqueued',
    'Attempt 1 started',
    'Step sleep 1',
    expect.stringMatching(/^Put off after /),
    'Next attempt',
  ]);
});
