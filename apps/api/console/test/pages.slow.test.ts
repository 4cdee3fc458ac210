/** Every area opens in a real browser, shows its data, and can be read by everybody. */
import { readFileSync } from 'node:fs';

import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { until } from '@mortise/test-kit';
import type { Browser } from 'playwright-core';

import { violationsOf } from './fixture/axe.js';
import { launch, open, OTHER_HOST, signIn, visit } from './fixture/browser.js';
import type { Opened } from './fixture/browser.js';
import { HOSTILE, PLACES, seed } from './fixture/seed.js';
import { KEY, Service } from './fixture/service.js';

/** The limit of all that a browser loads before it shows the first area, in bytes as they are sent. */
const BUDGET = JSON.parse(
  readFileSync(new URL('../../../../tooling/consumers/budget.json', import.meta.url), 'utf8'),
) as { page: Record<string, { limit: number }> };
const FIRST_LOAD = 'the first load of the console';

const service = new Service();
let browser: Browser;

beforeAll(async () => {
  [browser] = await Promise.all([launch(), service.start()]);
  await seed(service);
});

afterAll(async () => {
  await browser?.close();
  await service.kill();
});

describe('each place', () => {
  const WIDE = { width: 1_280, height: 800 };
  const NARROW = { width: 360, height: 740 };
  let opened: Opened;
  beforeAll(async () => {
    opened = await open(browser, { viewport: WIDE });
    await signIn(opened.page, service);
  });
  afterAll(() => opened.close());

  test.each(PLACES)(
    '%s shows its data, can be read in both schemes, and fits 360 px',
    async (place, shows) => {
      const { page, troubles } = opened;
      await page.emulateMedia({ colorScheme: 'light' });
      await page.setViewportSize(WIDE);
      await visit(page, service, place);
      await page.locator('main').getByText(shows).first().waitFor();
      expect(await violationsOf(page)).toEqual([]);
      // The scheme changes colours alone.
      await page.emulateMedia({ colorScheme: 'dark' });
      expect(await violationsOf(page, ['color-contrast'])).toEqual([]);
      await page.setViewportSize(NARROW);
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(NARROW.width);
      expect(troubles).toEqual([]);
    },
    90_000,
  );
});

test('a script in the page does not run, and is reported', async () => {
  const { page, troubles, close } = await open(browser);
  await signIn(page, service, 'overview');
  await page.evaluate(
    "document.body.append(Object.assign(document.createElement('script'), { textContent: 'globalThis.hasRun = true' }))",
  );
  await until('the report', () => troubles.length > 0);
  expect(troubles).toEqual([expect.stringContaining('Content Security Policy')]);
  expect(await page.evaluate('globalThis.hasRun')).toBeUndefined();
  await close();
});

test('a fencing token stays in one line, also at 360 px', async () => {
  const { page, close } = await open(browser, { viewport: { width: 360, height: 740 } });
  await signIn(page, service, 'locks/item-42');
  const token = page.locator('.figure .long');
  await token.waitFor();
  expect(await token.evaluate((shown) => shown.getClientRects().length)).toBe(1);
  await close();
});

/** The contrast of the axis at the left of a chart, of which axe sees nothing: that of its strongest pixel with the background. */
const CONTRAST = `(() => {
  const canvas = document.querySelector('.plot canvas');
  const card = getComputedStyle(canvas.closest('.card')).backgroundColor.match(/[\\d.]+/g).map(Number);
  const width = Math.round(50 * devicePixelRatio);
  const { data } = canvas.getContext('2d').getImageData(0, 0, width, canvas.height);
  const light = (rgb) => {
    const [r, g, b] = rgb.map((c) => ((c /= 255) <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const back = light(card);
  let most = 1;
  for (let at = 0; at < data.length; at += 4) {
    if (data[at + 3] < 250) continue;
    const its = light([data[at], data[at + 1], data[at + 2]]);
    most = Math.max(most, (Math.max(its, back) + 0.05) / (Math.min(its, back) + 0.05));
  }
  return most;
})()`;

test.each(['light', 'dark'] as const)(
  'the axes of a chart can be read in the %s scheme',
  async (colorScheme) => {
    const { page, close } = await open(browser, { colorScheme });
    await signIn(page, service, 'overview');
    // The age of a task that waits changes: the chart begins with the second snapshot.
    await service.enqueue('chart', 'a', 1);
    await page.locator('.plot canvas').nth(1).waitFor();
    expect(await page.evaluate(CONTRAST)).toBeGreaterThan(4.5);
    // Without a pointer the legend has the last figures.
    await page
      .locator('.u-legend')
      .getByText(/^\d\d \w+ \d{4}, /)
      .first()
      .waitFor();
    await close();
  },
  90_000,
);

test('names and payloads of other programs are text', async () => {
  const { page, troubles, close } = await open(browser);
  await signIn(page, service, `queues/${encodeURIComponent(HOSTILE)}`);
  await page.getByRole('link', { name: /^[0-9a-f-]{36}$/ }).click();
  await page.getByText('<script>alert(1)</script>').waitFor();
  expect(await page.locator('main img, main script').count()).toBe(0);
  expect(troubles).toEqual([]);
  await close();
});

test('a name that turns the direction of text shows a symbol, and nothing after it is reversed', async () => {
  const name = 'bill\u202Egpj.exe';
  await service.enqueue(name, `${name}\u0007`, { note: name });
  const { page, troubles, close } = await open(browser);
  await signIn(page, service, `queues/${encodeURIComponent(name)}`);
  await page.locator('main td').getByText('bill[U+202E]gpj.exe\u2407').first().waitFor();
  await page
    .getByRole('link', { name: /^[0-9a-f-]{36}$/ })
    .first()
    .click();
  await page.locator('pre').getByText('bill[U+202E]gpj.exe').waitFor();
  const texts = await page.evaluate<string>('document.title + document.body.innerText');
  expect(texts).not.toMatch(/[\u202a-\u202e\u2066-\u2069]/);
  // The address is that of the queue as it is.
  await visit(page, service, 'queues');
  await page.getByRole('link', { name: 'bill[U+202E]gpj.exe' }).click();
  await page.getByRole('button', { name: 'Pause' }).click();
  await page.getByText('bill[U+202E]gpj.exe is paused.').waitFor();
  expect((await service.done('GET', `queues/${encodeURIComponent(name)}`)).isPaused).toBe(true);
  expect(troubles).toEqual([]);
  await close();
});

test('the first load is within its budget', async () => {
  const { page, close } = await open(browser);
  const sizes: Promise<{ readonly responseBodySize: number }>[] = [];
  page.on('response', (response) => {
    if (response.url().includes('/console/')) sizes.push(response.request().sizes());
  });
  await signIn(page, service);
  await page.getByRole('heading', { name: 'Overview' }).waitFor();
  await page.waitForLoadState('load');
  const bytes = (await Promise.all(sizes)).reduce((sum, { responseBodySize }) => sum + responseBodySize, 0);
  expect(bytes).toBeGreaterThan(5_000);
  expect(bytes).toBeLessThan(BUDGET.page[FIRST_LOAD]!.limit);
  await close();
});

describe('the sign-in', () => {
  test('by a link leaves no key in the address and none in the history', async () => {
    const { page, close } = await open(browser);
    await signIn(page, service);
    expect(page.url()).not.toContain('key');
    await visit(page, service, 'queues');
    await page.goBack();
    expect(page.url()).not.toContain('key');
    await close();
  });

  test('comes back when the session ends while the page is open', async () => {
    const { page, close } = await open(browser);
    await signIn(page, service);
    await page.evaluate("fetch('/v1/session', { method: 'DELETE' })");
    await page.getByRole('link', { name: 'Locks', exact: true }).click();
    await page.getByRole('heading', { name: 'Sign in to Mortise' }).waitFor();
    expect(await page.locator('.shell').count()).toBe(0);
    await close();
  });

  test('by a form says why a key is refused, and takes a valid one', async () => {
    const { page, close } = await open(browser);
    await page.goto(`${service.url}/console/`);
    await page.getByLabel('API key').fill('mk_wrong_0123456789012345678901');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByText('The request has no valid credential').waitFor();
    await page.getByLabel('API key').fill(KEY);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('heading', { name: 'Sign in to Mortise' }).waitFor();
    expect((await page.context().cookies()).filter(({ value }) => value !== '')).toEqual([]);
    await close();
  });
});

test('an area without its scope says which scope it needs', async () => {
  const { json } = await service.call('PUT', 'admin/keys/narrow', { scopes: ['locks:read'] });
  const { page, close } = await open(browser);
  await page.goto(`${service.url}/console/overview#key=${json.key}`);
  await page.getByText('Your key needs the scope queues:read for Overview.').waitFor();
  expect(await page.getByRole('link', { name: 'Queues' }).count()).toBe(0);
  await close();
});

test('an area of the deployment says so to another tenant that has its scope', async () => {
  await service.done('PUT', 'admin/tenants/other', { name: 'Other' });
  const key = { tenant: 'other', scopes: ['queues:read', 'ops:read'] };
  const { json } = await service.call('PUT', 'admin/keys/of-other', key);
  const { page, close } = await open(browser);
  await page.goto(`${service.url}/console/redis#key=${json.key}`);
  await page.getByText('Redis: shown to the tenant "default" alone.').waitFor();
  expect(await page.getByText('needs the scope').count()).toBe(0);
  await close();
});

describe('over plain HTTP, on another address than localhost', () => {
  const HOSTS = `127.0.0.1,${OTHER_HOST}`;
  const addressOf = ({ url }: Service): string => url.replace('127.0.0.1', OTHER_HOST);

  test('the page says what to do, and sends no key', async () => {
    await using remote = new Service({ ALLOWED_HOSTS: HOSTS, MORTISE_PREFIX: service.prefix });
    await remote.start();
    const { page, troubles, close } = await open(browser);
    const sent: string[] = [];
    page.on('request', (request) => sent.push(request.headers()['authorization'] ?? 'none'));
    await page.goto(`${addressOf(remote)}/console/queues#key=${KEY}`);
    await page.getByText('The console needs HTTPS, or localhost.').waitFor();
    const port = new URL(remote.url).port;
    await page.getByText(`ssh -L ${port}:localhost:${port} ${OTHER_HOST}`).waitFor();
    expect(await page.getByLabel('API key').count()).toBe(0);
    expect([new Set(sent), page.url()]).toEqual([new Set(['none']), `${addressOf(remote)}/console/queues`]);
    expect(await violationsOf(page)).toEqual([]);
    expect(troubles).toEqual([]);
    await close();
  });

  test('an API without authentication is used, also to post', async () => {
    await using remote = new Service({
      ALLOWED_HOSTS: HOSTS,
      MORTISE_PREFIX: service.prefix,
      AUTH: 'off-everywhere',
    });
    await remote.start();
    const { page, troubles, close } = await open(browser);
    await page.goto(`${addressOf(remote)}/console/chats/lunch?as=bill`);
    await page.getByText('At noon?').waitFor();
    await page.getByLabel('Message').fill('Yes, at noon.');
    await page.getByRole('button', { name: 'Post' }).click();
    await page.getByRole('listitem').filter({ hasText: 'Yes, at noon.' }).waitFor();
    expect(await page.evaluate('[isSecureContext, typeof crypto.randomUUID]')).toEqual([false, 'undefined']);
    expect(troubles).toEqual([]);
    await close();
  });
});
