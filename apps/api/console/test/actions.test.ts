/** Actions of operators, done in a real browser and checked against the API. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { until } from '@mortise/test-kit';
import type { Browser, Page, Request } from 'playwright-core';

import { launch, open, signIn, visit } from './fixture/browser.js';
import type { Opened } from './fixture/browser.js';
import { KEY, Service } from './fixture/service.js';

const service = new Service();
let browser: Browser;
let opened: Opened;
let page: Page;

beforeAll(async () => {
  [browser] = await Promise.all([launch(), service.start()]);
  opened = await open(browser);
  ({ page } = opened);
  await signIn(page, service);
}, 120_000);

afterAll(async () => {
  await browser?.close();
  await service.kill();
});

const button = (name: string | RegExp) => page.getByRole('button', { name });
const submit = (name: string | RegExp) => page.getByRole('dialog').getByRole('button', { name });

async function enqueue(queue: string, name: string, payload: unknown, more: object = {}): Promise<string> {
  return (await service.done('POST', `queues/${queue}/tasks`, { name, payload, ...more })).id as string;
}

/** A task that is dead, with a log, as a worker over HTTP leaves it. */
async function die(queue: string, payload: unknown, error: string): Promise<string> {
  const id = await enqueue(queue, 'mail.sold', payload);
  const { items } = await service.done('POST', `queues/${queue}/claims`, { limit: 1, leaseMs: 60_000 });
  const { lease } = items[0];
  await service.done('POST', `queues/${queue}/tasks/${id}/log`, { lease, text: 'connecting to smtp' });
  await service.done('POST', `queues/${queue}/tasks/${id}/fail`, { lease, error, isRetried: false });
  return id;
}

async function stateOf(queue: string, id: string): Promise<string> {
  const { status, json } = await service.call('GET', `queues/${queue}/tasks/${id}`);
  return status === 404 ? 'gone' : json.state;
}

/** No action may leave an error behind. */
afterEach(() => expect(opened.troubles).toEqual([]));

describe('tasks', () => {
  test('why a mail failed is found, and it is mended and run again', async () => {
    await visit(page, service, 'queues/mails');
    const id = await die('mails', { to: 'frank@example.con' }, 'SMTP 550: mailbox unavailable');
    await visit(page, service, 'queues/mails?q=state:dead');
    await page.getByText('SMTP 550').waitFor();
    await page.getByRole('link', { name: id }).click();
    await page.getByText('connecting to smtp').waitFor();
    await page.getByText('frank@example.con').waitFor();
    await button('Run again, edited').click();
    const payload = page.getByLabel('Payload');
    await payload.fill('{ "to": "frank@example.com" }');
    await submit('Enqueue').click();
    await page.getByText('frank@example.com').waitFor();
    const { items } = await service.done('GET', 'queues/mails/tasks?state=ready');
    const [{ id: second }] = items;
    expect((await service.done('GET', `queues/mails/tasks/${second}`)).payload).toEqual({
      to: 'frank@example.com',
    });
    expect(page.url()).toContain(second);
  }, 30_000);

  test('a failed task is retried, and its page follows what happens to it', async () => {
    const id = await die('retries', {}, 'not today');
    await visit(page, service, `queues/retries/tasks/${id}`);
    await button('Retry').click();
    await until(`${id} is ready`, async () => (await stateOf('retries', id)) === 'ready');
    const { items } = await service.done('POST', 'queues/retries/claims', { limit: 1, leaseMs: 60_000 });
    await page.getByText('Attempt 1 started').last().waitFor();
    await service.done('POST', `queues/retries/tasks/${id}/complete`, {
      lease: items[0].lease,
      result: { sent: true },
    });
    await page.getByText('"sent": true').waitFor();
    await page.getByText(/^Succeeded after/).waitFor();
    expect(await stateOf('retries', id)).toBe('succeeded');
  }, 30_000);

  test('a hundred tasks are rescheduled by a filter, and others are not', async () => {
    const tasks = Array.from({ length: 130 }, (_, n) => ({
      name: n < 100 ? 'report.daily' : 'report.weekly',
      payload: { customer: { id: 42 } },
      delayMs: 60_000,
    }));
    await service.done('POST', 'queues/hundred/task-batches', { tasks });
    await visit(page, service, 'queues/hundred?q=state:scheduled');
    await page
      .getByRole('link', { name: /^[0-9a-f-]{36}$/ })
      .first()
      .waitFor();
    const filter = page.getByRole('combobox', { name: 'Filter' });
    await filter.fill('state:scheduled name:report.d');
    await page.getByRole('option', { name: 'name:report.daily' }).waitFor();
    await filter.fill('state:scheduled name:report.daily payload.');
    await page.getByRole('option', { name: 'payload.customer.id:' }).waitFor();
    await filter.fill('state:scheduled name:report.daily payload.customer.id:42');
    await filter.press('Enter');
    await page.getByText('All state:scheduled name:report.daily payload.customer.id:42').waitFor();
    await button('Reschedule').click();
    await page.getByLabel('Run in').fill('2');
    await submit('Reschedule 100 tasks').click();
    await page.getByText('Done: 100 rescheduled.').waitFor();
    const { items } = await service.done('GET', 'queues/hundred/tasks?state=scheduled&limit=200');
    const late = items.filter(({ runAt }: { runAt: number }) => runAt > Date.now() + 3_600_000);
    expect(late).toHaveLength(100);
    expect(new Set(late.map(({ name }: { name: string }) => name))).toEqual(new Set(['report.daily']));
  }, 30_000);

  test('selected tasks get another priority, and are deleted, by keys alone', async () => {
    const ids: string[] = [];
    for (let n = 0; n < 4; n += 1) ids.push(await enqueue('keys', 'a', n));
    await visit(page, service, 'queues/keys');
    await page.getByRole('link', { name: ids[0]! }).focus();
    await page.keyboard.press('x');
    await page.keyboard.press('j');
    await page.keyboard.press('x');
    await page.getByText('2 tasks selected').waitFor();
    await button('Change priority').focus();
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').getByRole('combobox').selectOption({ index: 0 });
    await submit('Change priority: 2 tasks').press('Enter');
    await page.getByText('2 tasks moved.').waitFor();
    const { priorities } = await service.done('GET', 'queues/keys');
    const priorityOf = async (id: string): Promise<string> =>
      (await service.done('GET', `queues/keys/tasks/${id}`)).priority;
    expect(await Promise.all(ids.slice(0, 2).map(priorityOf))).toEqual([priorities[0], priorities[0]]);
    expect(await priorityOf(ids[2]!)).not.toBe(priorities[0]);
    await page.getByRole('checkbox', { name: `Select ${ids[3]}` }).check();
    await button('Delete').click();
    await submit('Delete: 1 task').click();
    await until('it is gone', async () => (await stateOf('keys', ids[3]!)) === 'gone');
    expect(await stateOf('keys', ids[2]!)).toBe('ready');
  }, 30_000);

  test('a queue is paused, resumed and removed', async () => {
    await enqueue('whole', 'a', 1);
    await visit(page, service, 'queues/whole/settings');
    await button('Pause').click();
    await until('paused', async () => (await service.done('GET', 'queues/whole')).isPaused);
    await button('Resume').click();
    await until('resumed', async () => !(await service.done('GET', 'queues/whole')).isPaused);
    await button('Remove the queue').click();
    await page.getByLabel('Type whole').fill('whole');
    await submit('Remove').click();
    await until('gone', async () => (await service.call('GET', 'queues/whole')).status === 404);
    await page.getByRole('heading', { name: 'Queues' }).waitFor();
    expect(page.url()).toBe(`${service.url}/console/queues`);
  }, 30_000);

  test('a filter that is not understood acts on no task that was not selected', async () => {
    await enqueue('typos', 'a', { n: 1 });
    for (const typo of ['nmae:b', 'payload.n:1 payload.n:2', 'state:ready']) {
      await visit(page, service, `queues/typos?q=${encodeURIComponent(`state:ready ${typo}`)}`);
      await page.getByRole('checkbox').nth(1).waitFor();
      await page.getByText('Not understood').waitFor();
      expect(await button('Delete').count()).toBe(0);
    }
    await page.getByRole('checkbox').nth(1).check();
    await page.getByText('1 task selected').waitFor();
    expect(await button('Delete').count()).toBe(1);
  }, 30_000);

  test('a number that would be rounded is not enqueued', async () => {
    const id = await enqueue('exact', 'a', {});
    await visit(page, service, `queues/exact/tasks/${id}`);
    await button('Run again, edited').click();
    await page.getByLabel('Payload').fill('{"text": "9007199254740993", "n": 9007199254740993}');
    await submit('Enqueue').click();
    await page.getByText('would be rounded').waitFor();
    await page.getByLabel('Payload').fill('{"text": "9007199254740993", "n": 9007199254740991}');
    await submit('Enqueue').click();
    await page.getByText('9007199254740991').waitFor();
    expect((await service.done('GET', 'queues/exact')).counts.ready).toBe(2);
  }, 30_000);

  test('hidden members are not copied into a task', async () => {
    const id = await enqueue('hidden-members', 'a', { user: { password: 'canary' } });
    await visit(page, service, `queues/hidden-members/tasks/${id}`);
    await page.getByText('"[redacted]"').waitFor();
    await button('Cancel').waitFor();
    expect(await button('Run again, edited').count()).toBe(0);
    expect(await page.content()).not.toContain('canary');
  }, 30_000);

  test('a payload of 3 MB is cut', async () => {
    // Bodies of the API are smaller: another program has enqueued it.
    const { Queue } = await import('@mortise/queues');
    const { connect } = await import('@mortise/test-kit');
    const queue = new Queue(connect(), 'big', { prefix: service.prefix, maxPayloadBytes: 4_194_304 });
    const { id } = await queue.enqueue('a', { text: 'x'.repeat(3_000_000) });
    await visit(page, service, `queues/big/tasks/${id}`);
    await page.getByText('The first 16 KiB of 2.9 MiB').waitFor();
    expect((await page.locator('pre').first().textContent())!.length).toBeLessThan(20_000);
  }, 30_000);
});

describe('the palette', () => {
  test('goes to a queue, and to a task by its id', async () => {
    const id = await enqueue('palette', 'a', 1);
    await visit(page, service, 'overview');
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox', { name: 'Where to' }).fill('palet');
    await page.getByRole('option', { name: /^palette/ }).waitFor();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: /palette/ }).waitFor();
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox', { name: 'Where to' }).fill(id);
    await page.getByRole('option', { name: `${id} task of palette, if there is one` }).click();
    await page.getByRole('heading', { name: /palette/ }).waitFor();
    expect(page.url()).toContain(`/tasks/${id}`);
  }, 30_000);
});

test('a lock is watched as it changes hands, and taken away; the audit log has it', async () => {
  const first = await service.done('POST', 'locks/hands/acquire', { leaseMs: 60_000 });
  const second = service.done('POST', 'locks/hands/acquire', { leaseMs: 60_000, waitMs: 25_000 });
  await visit(page, service, 'locks/hands');
  await page.getByText(first.holder).first().waitFor();
  await button('Force release').click();
  await submit('Release').click();
  const { holder, fencingToken } = await second;
  await page.getByText(holder).first().waitFor();
  expect(fencingToken).toBeGreaterThan(first.fencingToken);
  await visit(page, service, 'access/audit');
  await page.getByText('POST /v1/locks/hands/force-release').first().waitFor();
}, 40_000);

test('a read-write lock is taken from its readers, and a rate limit is reset', async () => {
  await service.done('POST', 'read-write-locks/wiki/acquire', { mode: 'read', leaseMs: 60_000 });
  await visit(page, service, 'read-write-locks/wiki');
  await button('Force release').click();
  await submit('Release').click();
  await page.getByText('Free', { exact: true }).waitFor();
  expect((await service.done('GET', 'read-write-locks/wiki')).readers).toBe(0);

  const limit = { limit: 1, periodMs: 600_000 };
  await service.done('POST', 'rate-limiters/partner/take', limit);
  expect((await service.done('POST', 'rate-limiters/partner/take', limit)).isAllowed).toBe(false);
  await visit(page, service, 'rate-limits');
  await button('Reset').click();
  await submit('Reset').click();
  await page.getByText('No rate limit is in use.').waitFor();
  expect((await service.done('POST', 'rate-limiters/partner/take', limit)).isAllowed).toBe(true);
}, 30_000);

test('two tabs chat', async () => {
  await service.done('POST', 'chats', { sender: 'ann', members: ['bob'], chatId: 'tabs', body: 'hello' });
  const other = await page.context().newPage();
  await visit(page, service, 'chats/tabs?as=ann');
  await visit(other, service, 'chats/tabs?as=bob');
  await page.getByLabel('Message').fill('Are you there?');
  await button('Post').click();
  await other.getByText('Are you there?').waitFor();
  await other.getByLabel('Message').fill('<b>Yes</b>');
  await other.getByRole('button', { name: 'Post' }).click();
  await page.getByText('<b>Yes</b>').waitFor();
  const { items } = await service.done('GET', 'chats/tabs/messages?limit=10');
  expect(items.map(({ from }: { from: string }) => from)).toEqual(['ann', 'ann', 'bob']);
  await other.close();
}, 30_000);

test('a tag is invalidated, a mail is sent, a limit changed, a key made and revoked', async () => {
  await service.done('PUT', 'caches/shop/entries/lamp', { value: 1, tags: ['lamps'] });
  await visit(page, service, 'caches/shop?key=lamp');
  await button('Invalidate a tag').click();
  await page.getByRole('textbox', { name: 'Tag' }).fill('lamps');
  await submit('Invalidate').click();
  await until('gone', async () => (await service.call('GET', 'caches/shop/entries/lamp')).status === 404);

  await visit(page, service, 'mailboxes/zoe');
  await button('Send a message').click();
  await page.getByRole('textbox', { name: 'From' }).fill('ann');
  await page.getByRole('textbox', { name: 'Message' }).fill('hi');
  await submit('Send').click();
  await page.getByRole('cell', { name: 'hi', exact: true }).waitFor();

  await service.done('POST', 'semaphores/pool/acquire', { permits: 2, leaseMs: 60_000 });
  await visit(page, service, 'semaphores/pool');
  await button('Change the limit').click();
  await page.getByRole('spinbutton', { name: 'Permits' }).fill('5');
  await submit('Store').click();
  await until('5', async () => (await service.done('GET', 'semaphores/pool')).limit === 5);

  await visit(page, service, 'access');
  await button('Make a key').click();
  await page.getByRole('textbox', { name: 'Id' }).fill('robot');
  await page.getByRole('textbox', { name: 'Scopes' }).fill('queues:read locks:read');
  await submit('Make').click();
  await page.getByText(/^The key of robot/).waitFor();
  expect((await service.done('GET', 'admin/keys/robot')).scopes).toEqual(['queues:read', 'locks:read']);
  await button('Revoke').click();
  await submit('Revoke').click();
  await until('revoked', async () => (await service.call('GET', 'admin/keys/robot')).status === 404);
}, 60_000);

test('a name is added and removed, an item bought, a file dropped, a schedule stored and deleted', async () => {
  await service.done('PUT', 'address-books/guild/names/ann?by=ann', {});
  await visit(page, service, 'books/guild?as=ann');
  await button('Add a name').click();
  await page.getByRole('textbox', { name: 'Name', exact: true }).fill('jo-smith');
  await page.getByRole('textbox', { name: 'Shown as' }).fill('Jo Smith');
  await submit('Add').click();
  // Nothing behind a dialog takes text.
  await page.getByRole('dialog').waitFor({ state: 'hidden' });
  await page.getByRole('textbox', { name: 'Type a prefix' }).fill('smi');
  // The message of the addition has the name, too.
  await page.locator('tr[data-id="jo-smith"]').getByRole('button', { name: 'Remove' }).click();
  await submit('Remove').click();
  await page.getByText('No name begins so.').waitFor();
  expect((await service.done('GET', 'address-books/guild?by=ann')).size).toBe(1);

  for (const id of ['ann', 'bob'])
    await service.done('PUT', `market/players/${id}`, { name: id, email: `${id}@example.com`, funds: 100 });
  await service.done('PUT', 'market/players/ann/items/lamp');
  await service.done('POST', 'market/listings', { sellerId: 'ann', itemId: 'lamp', price: 97 });
  await visit(page, service, 'market');
  await button('Buy').click();
  await page.getByRole('textbox', { name: 'Buyer' }).fill('bob');
  await submit('Buy').click();
  await page.getByText('Nothing is for sale.').waitFor();
  await page.getByText('sold', { exact: true }).waitFor();
  expect((await service.done('GET', 'market/players/bob')).funds).toBe(3);

  await service.done('PUT', 'file-channels/logs/receivers/counter');
  const sent = await fetch(`${service.url}/v1/file-channels/logs/files?name=web.log`, {
    method: 'POST',
    headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/octet-stream' },
    body: 'a line\n',
  });
  expect(sent.status).toBe(201);
  await visit(page, service, 'files/logs');
  await page.getByText('web.log').waitFor();
  await button('Drop').click();
  await submit('Drop').click();
  await page.getByText('Nothing is left to receive.').waitFor();

  await enqueue('planned', 'a', 1);
  await visit(page, service, 'queues/planned/schedules');
  await button('Add a schedule').click();
  await page.getByRole('textbox', { name: /^Key/ }).fill('nightly');
  await page.getByRole('textbox', { name: /^Cron/ }).fill('0 3 * * *');
  await page.getByRole('textbox', { name: 'Name of the task' }).fill('report');
  await submit('Store').click();
  await page.getByRole('cell', { name: 'nightly' }).waitFor();
  expect((await service.done('GET', 'queues/planned/schedules')).items).toHaveLength(1);
  await button('Delete').click();
  await submit('Delete').click();
  await page.getByText('There is no schedule.').waitFor();
}, 60_000);

test('kill -9 of the API: the page says so, and shows afterwards what happened meanwhile', async () => {
  await visit(page, service, 'queues');
  await page.getByText('Live', { exact: true }).waitFor();
  await service.kill();
  await page.getByText('The API does not answer. The page may be old').waitFor();
  await service.start();
  await enqueue('meanwhile', 'a', 1);
  await page.getByRole('link', { name: 'meanwhile' }).waitFor({ timeout: 20_000 });
  expect(await page.getByText('The page may be old').count()).toBe(0);
}, 60_000);

test('events of an outage are shown after it', async () => {
  await enqueue('outage', 'a', 1);
  await using other = new Service({ MORTISE_PREFIX: service.prefix });
  await other.start();
  await visit(page, service, 'queues/outage/events');
  await page.getByText('Live', { exact: true }).waitFor();
  let failures = 0;
  page.on('requestfailed', () => (failures += 1));
  await service.kill();
  await until('the page has tried again and again', async () => failures >= 4);
  const { id } = await other.done('POST', 'queues/outage/tasks', { name: 'a', payload: 2 });
  await service.start();
  await page.getByText(id).waitFor({ timeout: 20_000 });
  expect(await page.getByText(id).count()).toBe(1);
}, 60_000);

test('a message between the first look and the stream is shown', async () => {
  await service.done('POST', 'chats', {
    sender: 'ann',
    members: ['bob'],
    chatId: 'early',
    body: 'early bird',
  });
  let isLate = true;
  await page.route('**/v1/events?topics=member*', async (route) => {
    if (isLate) {
      isLate = false;
      await page.getByText('early bird').waitFor();
      await service.done('POST', 'chats/early/messages', { sender: 'ann', body: 'late bird' });
    }
    await route.continue();
  });
  await visit(page, service, 'chats/early');
  await page.getByText('late bird').waitFor();
  await page.unroute('**/v1/events?topics=member*');
  expect(isLate).toBe(false);
}, 30_000);

test('a hidden tab reads nothing, and goes on where it was', async () => {
  await enqueue('hidden', 'a', 1);
  await visit(page, service, 'queues/hidden/events');
  await page.getByText('Live', { exact: true }).waitFor();
  const hide = (isHidden: boolean): Promise<unknown> =>
    page.evaluate(
      `Object.defineProperty(document, 'hidden', { value: ${isHidden}, configurable: true }); document.dispatchEvent(new Event('visibilitychange'))`,
    );
  const first = await enqueue('hidden', 'a', 2);
  await page.getByText(first).waitFor();
  await hide(true);
  await page.getByText('Paused', { exact: true }).waitFor();
  const second = await enqueue('hidden', 'a', 3);
  await hide(false);
  await page.getByText(second).waitFor();
  expect(await page.getByText(first).count()).toBe(1);
}, 30_000);

test('a console that is read-only offers no change', async () => {
  await using readOnly = new Service({ CONSOLE: 'read-only', MORTISE_PREFIX: service.prefix });
  await readOnly.start();
  const other = await open(browser);
  await signIn(other.page, readOnly, 'queues/keys');
  await other.page.getByText('This console is read-only.').waitFor();
  await other.page
    .getByRole('link', { name: /^[0-9a-f-]{36}$/ })
    .first()
    .waitFor();
  expect(await other.page.getByRole('button', { name: /Pause|Enqueue|Delete|Reschedule/ }).count()).toBe(0);
  // Nobody has looked at this queue before: the page says what its look does not do.
  const { id } = await service.done('POST', 'queues/unseen/tasks', { name: 'a', payload: 1 });
  for (const place of ['queues/unseen', 'queues/unseen/events', `queues/unseen/tasks/${id}`]) {
    await visit(other.page, readOnly, place);
    await other.page.getByText('The events of this queue are off').waitFor();
  }
  expect((await service.done('GET', 'queues/unseen')).keepEvents).toBe(0);
  // Somebody switches them on: the page follows them from then on, without being loaded again.
  let reads = 0;
  const count = (request: Request): void => {
    if (request.url().endsWith('/times')) reads += 1;
  };
  // The second look ends a first one that is not answered yet.
  other.page.on('requestfinished', count).on('requestfailed', count);
  await visit(other.page, readOnly, 'queues/unseen');
  // At first, and when the stream is open.
  await until('both looks at the times', () => reads === 2);
  await service.done('PUT', 'queues/unseen', { keepEvents: 100 });
  await other.page.getByRole('button', { name: 'Look again' }).click();
  await other.page.getByText('The events of this queue are off').waitFor({ state: 'detached' });
  await service.done('POST', 'queues/unseen/tasks', { name: 'a', payload: 2 });
  await other.page.getByRole('link', { name: 'ready 2' }).waitFor();
  await visit(other.page, readOnly, 'queues/keys');
  await other.page.getByText('Run, p50', { exact: true }).waitFor();
  expect(await other.page.getByText('The events of this queue are off').count()).toBe(0);
  expect(other.troubles).toEqual([]);
  await other.close();
}, 30_000);
