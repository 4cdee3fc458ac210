/** Keys and tenants are changed in the console, checked against the API. */
import { afterEach, expect, test } from '@jest/globals';
import { until } from '@mortise/test-kit';

import { visit } from './fixture/browser.js';
import { openConsole } from './fixture/console.js';

const { service, opened, page, button, submit } = await openConsole();

/** No action may leave an error behind. */
afterEach(() => expect(opened.troubles).toEqual([]));

test('a tenant gets a limit and quotas, and loses one of them', async () => {
  await visit(page, service, 'access/tenants');
  await button('Add a tenant').click();
  await page.getByRole('textbox', { name: /^Id/ }).fill('acme');
  await page.getByLabel('Requests at most').fill('600');
  await page.getByLabel('Queues at most').fill('5');
  await page.getByLabel('Bytes at most').fill('1000000');
  await submit('Add').click();
  const row = page.getByRole('row', { name: /acme/ });
  await row.getByText('600 in 60 s').waitFor();
  await row.getByText('5 queues, 977 KiB').waitFor();
  await row.getByRole('button', { name: 'Change' }).click();
  await page.getByLabel('Name').fill('Acme Ltd.');
  await page.getByLabel('Bytes at most').fill('');
  await page.getByLabel('Tasks at most').fill('0');
  await page.getByLabel('Requests at most').fill('');
  await submit('Store').click();
  await row.getByText('5 queues, 0 tasks').waitFor();
  expect(await service.done('GET', 'admin/tenants/acme')).toMatchObject({
    name: 'Acme Ltd.',
    limit: null,
    quotas: { queues: 5, tasks: 0 },
  });
});

test('the scopes and the limit of a key change, and its secret stays', async () => {
  await visit(page, service, 'access');
  await button('Make a key').click();
  await page.getByRole('textbox', { name: /^Id/ }).fill('grafana');
  await submit('Make').click();
  const secret = await page.getByText('The key of grafana').locator('code').innerText();
  const statusOf = async (path: string): Promise<number> =>
    (await fetch(`${service.url}/v1/${path}`, { headers: { authorization: `Bearer ${secret}` } })).status;
  expect([await statusOf('queues'), await statusOf('redis')]).toEqual([200, 403]);
  const row = page.getByRole('row', { name: /grafana/ });
  await row.getByRole('button', { name: 'Change' }).click();
  await page.getByRole('textbox', { name: 'Name' }).fill('Dashboards');
  await page.getByRole('textbox', { name: /^Scopes/ }).fill('ops:read');
  await page.getByLabel('Requests at most').fill('50');
  await page.getByLabel('In seconds').fill('10');
  await submit('Store').click();
  await row.getByText('50 in 10 s').waitFor();
  expect(await service.done('GET', 'admin/keys/grafana')).toMatchObject({
    name: 'Dashboards',
    tenant: 'default',
    subject: null,
    scopes: ['ops:read'],
    limit: { requests: 50, seconds: 10 },
  });
  await until('the new scopes', async () => (await statusOf('queues')) === 403);
  expect(await statusOf('redis')).toBe(200);
  // It is shown once, and nothing but its end hides it.
  expect(await page.getByText('The key of grafana').count()).toBe(1);
  await row.getByRole('button', { name: 'Revoke' }).click();
  await submit('Revoke').click();
  await page.getByText('The key of grafana').waitFor({ state: 'detached' });
});
