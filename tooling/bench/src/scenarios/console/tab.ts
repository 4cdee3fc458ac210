/** A tab of a real Chromium that shows the queue while tasks are enqueued. */
import { setTimeout as pause } from 'node:timers/promises';

import { findChromium } from '@mortise/browser';
import type { Queue } from '@mortise/queues';
import { chromium } from 'playwright-core';
import type { CDPSession, Page } from 'playwright-core';

import { LARGE_ID, QUEUE } from './data.js';

/** No sandbox of its own: measurements run in containers, also as root. */
const FLAGS = ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'];
const MOST_ROWS = 1_000;
const EVENTS = 2_000;
const AT_ONCE = 20;

/** The largest heap of the tab, garbage included, MB. */
export async function tabHeapMb(url: string, queue: Queue): Promise<number> {
  const { executablePath, env } = await findChromium();
  const browser = await chromium.launch({ executablePath, env: { ...process.env, ...env }, args: FLAGS });
  try {
    const page = await browser.newPage();
    const session = await page.context().newCDPSession(page);
    await session.send('Performance.enable');
    const seen: number[] = [];
    const look = async (): Promise<void> => {
      seen.push(await heapMb(session));
    };
    await page.goto(`${url}/queues/${QUEUE}`);
    await readOn(page, look);
    await page.goto(`${url}/queues/${QUEUE}/tasks/${LARGE_ID}`);
    await page.getByText('xxxx').first().waitFor();
    await look();
    await page.goto(`${url}/queues/${QUEUE}/events`);
    await page.locator('main h1').first().waitFor();
    for (let n = 0; n < EVENTS; n += AT_ONCE) {
      await queue.enqueueMany(
        Array.from({ length: AT_ONCE }, () => ({ name: 'order', payload: { customer: n } })),
      );
      await look();
    }
    await pause(1_000);
    await look();
    return Math.max(...seen);
  } finally {
    await browser.close();
  }
}

/** Reads on until a thousand rows are in the tab. Pages of large tasks are short. */
async function readOn(page: Page, look: () => Promise<void>): Promise<void> {
  const rows = page.locator('tbody tr');
  await rows.first().waitFor();
  for (let shown = await rows.count(); shown < MOST_ROWS; shown = await rows.count()) {
    await look();
    await page.getByRole('button', { name: 'More', exact: true }).click();
    await rows.nth(shown).waitFor();
  }
  await look();
}

async function heapMb(session: CDPSession): Promise<number> {
  const { metrics } = await session.send('Performance.getMetrics');
  return metrics.find(({ name }) => name === 'JSHeapUsedSize')!.value / 1e6;
}
