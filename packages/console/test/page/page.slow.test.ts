/** The page itself in a real Chromium, through the handler. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { findChromium } from '@mortise/browser';
import { chromium } from 'playwright-core';
import type { Browser, Page } from 'playwright-core';
import { until } from '@mortise/test-kit';

import type { Served } from '../fixture/serve.js';
import { serve } from '../fixture/serve.js';

/** No sandbox of its own: tests run in containers, also as root. */
const FLAGS = ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'];
const HOSTILE = '<img src=x onerror=alert(1)>';
const MOUNT = '/admin/tasks';

let browser: Browser;
beforeAll(async () => {
  const { executablePath, env } = await findChromium();
  browser = await chromium.launch({ executablePath, env: { ...process.env, ...env }, args: FLAGS });
});
afterAll(() => browser?.close());

interface Opened {
  readonly page: Page;
  /** Errors that the page reports, and breaches of its policy. */
  readonly troubles: string[];
}

async function open({ url }: Served, place: string): Promise<Opened> {
  const page = await browser.newPage();
  page.setDefaultTimeout(60_000);
  const troubles: string[] = [];
  page.on('console', (message) => message.type() === 'error' && troubles.push(message.text()));
  page.on('pageerror', (error) => troubles.push(error.message));
  page.on('requestfailed', (request) => {
    // Requests of a place that was left are aborted.
    if (request.failure()?.errorText !== 'net::ERR_ABORTED') troubles.push(request.url());
  });
  await page.goto(`${url}${MOUNT}/${place}`);
  await page.locator('main h1').first().waitFor();
  return { page, troubles };
}

describe('the page', () => {
  let served: Served;
  beforeAll(async () => {
    served = await serve({ mount: MOUNT });
    await served.queue('mail').enqueue('mail.sold', { to: 'frank', token: 'hunter2' }, { id: 'a' });
    await served.queue(HOSTILE).enqueue(HOSTILE, HOSTILE);
  });

  test('shows the areas of queues, and no other one', async () => {
    const { page, troubles } = await open(served, '');
    await page.getByRole('link', { name: 'mail', exact: true }).first().waitFor();
    expect(
      await page.getByRole('navigation', { name: 'Areas' }).getByRole('listitem').allTextContents(),
    ).toEqual(['Overview', 'Queues']);
    await page.getByText(HOSTILE).first().waitFor();
    await page.locator('.live[data-state=open]').waitFor();
    await served.queue('later').enqueue('t', 1);
    await page.getByText('later').first().waitFor();
    expect(troubles).toEqual([]);
  });

  test('loads its parts below the mount, hides secrets, and pauses a queue', async () => {
    const { page, troubles } = await open(served, 'queues/mail/tasks/a');
    await page.getByText('frank').first().waitFor();
    expect(await page.content()).not.toContain('hunter2');
    await page.goto(`${served.url}${MOUNT}/queues/mail/settings`);
    await page.getByRole('button', { name: 'Pause' }).click();
    await until('the pause', async () => (await served.queue('mail').settings()).isPaused);
    // An action is reported after its answer.
    await until('the report', async () => served.actions.length > 0);
    expect(served.actions.map(({ path, status }) => [path, status])).toEqual([['queues/mail/pause', 204]]);
    expect(troubles).toEqual([]);
  });

  test('says that it is read-only, and offers no change', async () => {
    const reader = await serve({ mount: MOUNT, prefix: served.prefix, authorize: () => 'read' });
    const { page } = await open(reader, 'queues/mail');
    await page.getByText('This console is read-only.').waitFor();
    expect(await page.getByRole('button', { name: /Pause|Enqueue/ }).count()).toBe(0);
  });
});
