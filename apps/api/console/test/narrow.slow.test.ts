/** A screen of 360 px: wide tables show that there is more of them, and the actions on tasks cover nothing that one needs before. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { until } from '@mortise/test-kit';
import type { Locator, Page } from 'playwright-core';

import { open, signIn, visit } from './fixture/browser.js';
import { openConsole } from './fixture/console.js';

const { service, browser } = await openConsole();
const SIZE = { width: 360, height: 740 };
const EDGE = 6;
/** Of 255: what an eye sees as a shadow. */
const SEEN = 10;

beforeAll(async () => {
  await service.enqueue('short', 'mail.sold', 1);
});

/** The mean light of the last pixels of an element at its right edge, 0 to 255, in its lowest row: no text is there. */
async function lightOfEdge(element: Locator, decoder: Page): Promise<number> {
  const { x, y, width, height } = (await element.boundingBox())!;
  const clip = { x: x + width - EDGE - 1, y: y + height - EDGE - 2, width: EDGE, height: EDGE };
  const png = (await element.page().screenshot({ clip })).toString('base64');
  return decoder.evaluate<number>(`(async () => {
    const picture = await createImageBitmap(await (await fetch('data:image/png;base64,${png}')).blob());
    const canvas = new OffscreenCanvas(picture.width, picture.height).getContext('2d');
    canvas.drawImage(picture, 0, 0);
    const { data } = canvas.getImageData(0, 0, picture.width, picture.height);
    return data.reduce((sum, value, at) => (at % 4 === 3 ? sum : sum + value), 0) / (data.length / 4) / 3;
  })()`);
}

async function toEnd(table: Locator): Promise<void> {
  await table.evaluate((element: { scrollLeft: number; scrollWidth: number }) => {
    element.scrollLeft = element.scrollWidth;
  });
}

describe.each(['light', 'dark'] as const)('in the %s scheme', (colorScheme) => {
  let page: Page;
  let close: () => Promise<void>;
  beforeAll(async () => {
    ({ page, close } = await open(browser, { viewport: SIZE, colorScheme }));
    await signIn(page, service, 'queues');
  });
  afterAll(() => close());

  test('a table with more columns has a shadow at its edge, until its end is in sight', async () => {
    await visit(page, service, 'queues');
    const table = page.getByRole('region', { name: 'Queues' });
    await table.getByRole('link', { name: 'short' }).waitFor();
    const decoder = await browser.newPage();
    const before = await lightOfEdge(table, decoder);
    await toEnd(table);
    const after = await lightOfEdge(table, decoder);
    expect(Math.abs(before - after)).toBeGreaterThan(SEEN);
    await decoder.close();
  });

  test('the name of a row stays in sight', async () => {
    await visit(page, service, 'queues');
    const table = page.getByRole('region', { name: 'Queues' });
    const name = table.getByRole('link', { name: 'short' });
    await name.waitFor();
    const { x } = (await name.boundingBox())!;
    await toEnd(table);
    expect((await name.boundingBox())!.x).toBe(x);
  });
});

test.each([
  [360, 740],
  [360, 480],
  [1_280, 480],
])(
  'the actions on a short list cover no state and no filter at %d × %d',
  async (width, height) => {
    const { page, close } = await open(browser, { viewport: { width, height } });
    await signIn(page, service, 'queues/short');
    const actions = page.getByRole('toolbar', { name: 'Actions on tasks' });
    await actions.waitFor();
    const needed = [
      page.getByRole('navigation', { name: 'States' }),
      page.getByRole('combobox', { name: 'Filter' }),
    ];
    const steps = await page.evaluate<number>(
      'Math.ceil((document.documentElement.scrollHeight - innerHeight) / 50)',
    );
    for (let step = 0; step <= steps; step += 1) {
      await page.evaluate(`scrollTo(0, ${step * 50})`);
      const dock = (await actions.boundingBox())!;
      for (const each of needed) {
        const { y, height: high } = (await each.boundingBox())!;
        expect(Math.min(y + high, dock.y + dock.height) - Math.max(y, dock.y)).toBeLessThanOrEqual(0);
      }
    }
    await close();
  },
  90_000,
);

test('the menu has the colours and the tenant', async () => {
  const { page, close } = await open(browser, { viewport: SIZE, colorScheme: 'light' });
  await signIn(page, service, 'queues');
  const areas = page.getByRole('navigation', { name: 'Areas' });
  await page.getByRole('button', { name: 'Menu' }).click();
  await areas.getByText('· default').scrollIntoViewIfNeeded();
  expect(await areas.getByText('· default').isVisible()).toBe(true);
  const background = (): Promise<string> => page.evaluate('getComputedStyle(document.body).backgroundColor');
  const light = await background();
  for (const next of ['light', 'dark'])
    await areas.getByRole('button', { name: `Change to ${next}` }).click();
  await until('the dark colours', async () => (await background()) !== light);
  // The button at the top of a wide screen knows it.
  await page.setViewportSize({ width: 1_280, height: 800 });
  await page.getByRole('banner').getByRole('button', { name: 'Colours: dark' }).waitFor();
  expect(await areas.getByText('· default').isVisible()).toBe(false);
  await close();
});

test('all tabs of a queue are in sight', async () => {
  const { page, close } = await open(browser, { viewport: SIZE });
  await signIn(page, service, 'queues/short');
  const tabs = page.getByRole('navigation', { name: 'Parts of the queue' });
  await tabs.waitFor();
  const { x, width } = (await tabs.boundingBox())!;
  for (const tab of await tabs.getByRole('link').all()) {
    const box = (await tab.boundingBox())!;
    expect(box.x + box.width).toBeLessThanOrEqual(x + width);
  }
  await close();
});

test('long names break, in a chat and in a dialog about them', async () => {
  const name = 'x'.repeat(100);
  await service.done('POST', 'chats', { sender: name, members: ['bill'], chatId: name, body: name });
  const { page, close } = await open(browser, { viewport: SIZE });
  await signIn(page, service, `chats/${name}`);
  await page.locator('.timeline').getByText(name).first().waitFor();
  const surplus = (): Promise<number> =>
    page.evaluate<number>('document.documentElement.scrollWidth - innerWidth');
  expect(await surplus()).toBe(0);
  await page.getByRole('button', { name: 'Remove' }).last().click();
  const dialog = page.getByRole('dialog');
  await dialog.waitFor();
  expect(
    await dialog.evaluate(
      (element: { scrollWidth: number; clientWidth: number }) => element.scrollWidth - element.clientWidth,
    ),
  ).toBe(0);
  await close();
});
