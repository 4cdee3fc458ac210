/**
 * A queue that has grown, with payloads of 3 MB: what is sent, what Redis does for it, and what the tab keeps do not grow with the queue.
 * The scenario `console.million` of the benchmarks has a million tasks, and the times.
 */
import { beforeAll, describe, expect, test } from '@jest/globals';
import { Queue } from '@mortise/queues';
import { monitor, runServer, until } from '@mortise/test-kit';
import type { SeenCommand } from '@mortise/test-kit';
import type { Page } from 'playwright-core';

import { visit } from './fixture/browser.js';
import { openConsole } from './fixture/console.js';

const { server, connect } = await runServer();
const redis = connect();
const { service, page, opened } = await openConsole({ REDIS_URL: server.url });

const SMALL = 20_000;
const LARGE = 5;
const BATCH = 1_000;
const MOST_BYTES = 100_000;
const MOST_HEAP_MB = 150;
/** The most members that a command may read of a collection. */
const MOST_READ = 2_000;

const queue = new Queue(redis, 'orders', { prefix: service.prefix, maxPayloadBytes: 4_000_000 });

beforeAll(async () => {
  const text = 'x'.repeat(3_000_000);
  for (let n = 0; n < LARGE; n += 1) await queue.enqueue('import', { n, text }, { id: `large-${n}` });
  for (let first = 0; first < SMALL; first += BATCH)
    await queue.enqueueMany(
      Array.from({ length: BATCH }, (_, n) => ({ name: 'order', payload: { customer: { id: n % 7 } } })),
    );
});

/** Commands that look at all keys, or at all of a collection, however large it is. */
const WHOLE = new Set([
  'keys',
  'smembers',
  'hgetall',
  'hkeys',
  'hvals',
  'sort',
  'lpos',
  'sunion',
  'sinter',
  'sdiff',
]);

/** Whether a command may read more of a collection than a bounded part. */
function isUnbounded({ command, args }: SeenCommand): boolean {
  if (WHOLE.has(command)) return true;
  if (!['lrange', 'zrange', 'zrevrange'].includes(command) || args.includes('LIMIT')) return false;
  const [from, to] = [Number(args[1]), Number(args[2])];
  return to < 0 ? from >= 0 : to - from > MOST_READ;
}

/** The answers of the API, and the commands of Redis, while a page is used. */
async function seenWhile(
  use: () => Promise<void>,
): Promise<{ answers: [string, number][]; unbounded: string[] }> {
  const answers: [string, number][] = [];
  const reading: Promise<unknown>[] = [];
  page.on('response', (response) => {
    const { pathname } = new URL(response.url());
    // The stream of events has no end.
    if (!pathname.startsWith('/v1/') || pathname === '/v1/events') return;
    reading.push(
      response.body().then(
        ({ length }) => answers.push([pathname, length]),
        () => undefined,
      ),
    );
  });
  const unbounded: string[] = [];
  let commands = 0;
  const close = await monitor(redis, (seen) => {
    commands += 1;
    if (isUnbounded(seen)) unbounded.push([seen.command, ...seen.args].join(' '));
  });
  await use();
  await Promise.all(reading);
  await until('commands', () => commands > 0);
  close();
  page.removeAllListeners('response');
  return { answers, unbounded };
}

async function heapMb(of: Page): Promise<number> {
  const session = await of.context().newCDPSession(of);
  await session.send('Performance.enable');
  const { metrics } = await session.send('Performance.getMetrics');
  await session.detach();
  return metrics.find(({ name }) => name === 'JSHeapUsedSize')!.value / 1e6;
}

describe('a page of a large queue has small answers, reads a bounded part of it, and keeps little', () => {
  const row = (name: string | RegExp): Promise<void> => page.getByRole('link', { name }).first().waitFor();
  test.each<[string, () => Promise<void>]>([
    ['the overview', () => visit(page, service, 'overview')],
    [
      'a list, and more of it',
      async () => {
        await visit(page, service, 'queues/orders');
        await row('large-0');
        for (let pages = 1; pages < 5; pages += 1) {
          await page.getByRole('button', { name: 'More', exact: true }).click();
          await page
            .locator('main tbody tr')
            .nth(50 * pages)
            .waitFor();
        }
      },
    ],
    [
      'a list by a name',
      async () => {
        await visit(page, service, 'queues/orders?q=state:ready%20name:import');
        await row('large-0');
      },
    ],
    [
      'a list by a payload',
      async () => {
        await visit(page, service, 'queues/orders?q=state:ready%20payload.customer.id:3');
        await row(/^[0-9a-f-]{36}$/);
      },
    ],
    [
      'a task of 3 MB',
      async () => {
        await visit(page, service, 'queues/orders/tasks/large-0');
        await page.getByText('The first 16 KiB of 2.9 MiB').waitFor();
      },
    ],
    [
      'the events of thousands of tasks',
      async () => {
        await visit(page, service, 'queues/orders/events');
        await page.getByText('Live', { exact: true }).waitFor();
        const tasks = Array.from({ length: BATCH }, () => ({ name: 'order', payload: {} }));
        await queue.enqueueMany(tasks);
        await page.locator('main tbody tr').nth(199).waitFor();
      },
    ],
  ])(
    '%s',
    async (_name, use) => {
      const { answers, unbounded } = await seenWhile(use);
      expect(answers.length).toBeGreaterThan(0);
      expect(answers.filter(([, bytes]) => bytes > MOST_BYTES)).toEqual([]);
      expect(unbounded).toEqual([]);
      expect(await heapMb(page)).toBeLessThan(MOST_HEAP_MB);
      expect(opened.troubles).toEqual([]);
    },
    90_000,
  );
});
