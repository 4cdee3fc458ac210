/** Actions of operators, done in a real browser and checked against the API. */
import { afterEach, describe, expect, test } from '@jest/globals';
import { connect, until } from '@mortise/test-kit';
import type { Locator } from 'playwright-core';

import { visit } from './fixture/browser.js';
import { openConsole } from './fixture/console.js';
import { KEY } from './fixture/service.js';

const { service, opened, page, button, submit } = await openConsole();
const redis = connect();

/** A task that is dead, with a log, as a worker over HTTP leaves it. */
async function die(queue: string, payload: unknown, error: string): Promise<string> {
  const id = await service.enqueue(queue, 'mail.sold', payload);
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
  });

  test('a flow is a tree of all its tasks, whose states change, and each task leads to the others', async () => {
    const tasks = [
      { id: 'album', name: 'album', payload: {} },
      { id: 'one', name: 'photo', payload: {}, parent: 0 },
      { id: 'two', name: 'photo', payload: {}, parent: 0, queue: 'scaling' },
      { id: 'three', name: 'scale', payload: {}, parent: 2, queue: 'scaling' },
    ];
    await service.done('POST', 'queues/albums/flows', { tasks });
    await until('the children', async () => (await stateOf('scaling', 'three')) === 'ready');
    const leaf = (text: string): Locator => page.locator('main .timeline li').filter({ hasText: text });
    await visit(page, service, 'queues/albums/tasks/album');
    await page.getByRole('heading', { name: 'Flow: 2 children' }).waitFor();
    await leaf('one').getByText('ready', { exact: true }).waitFor();
    await leaf('two').getByText('waiting', { exact: true }).waitFor();
    await leaf('two').getByRole('button', { name: 'Children' }).click();
    await leaf('three').last().getByText('ready', { exact: true }).waitFor();
    // The page follows them, also those in another queue.
    for (const [queue, id] of [
      ['albums', 'one'],
      ['scaling', 'three'],
    ]) {
      const { items } = await service.done('POST', `queues/${queue}/claims`, { limit: 1, leaseMs: 60_000 });
      await leaf(id!).last().getByText('active', { exact: true }).waitFor();
      await service.done('POST', `queues/${queue}/tasks/${id}/complete`, { lease: items[0].lease });
      await leaf(id!).last().getByText('succeeded', { exact: true }).waitFor();
    }
    await leaf('three').last().getByRole('link', { name: 'three' }).click();
    await page.getByRole('link', { name: 'two', exact: true }).click();
    await page.getByRole('link', { name: 'album', exact: true }).click();
    await leaf('one').getByText('succeeded', { exact: true }).waitFor();
    expect(await stateOf('albums', 'album')).toBe('waiting');
  });

  test('a task that is due in three days says so', async () => {
    const task = { name: 'a', payload: 0, delayMs: 3 * 86_400_000 };
    const { id } = await service.done('POST', 'queues/later/tasks', task);
    await visit(page, service, `queues/later/tasks/${id}`);
    await page.getByText('in 3 d', { exact: true }).first().waitFor();
    expect(await page.getByText('in 2 d', { exact: true }).count()).toBe(0);
  });

  test('selected tasks get another priority, and are deleted, by keys alone', async () => {
    const ids: string[] = [];
    for (let n = 0; n < 4; n += 1) ids.push(await service.enqueue('keys', 'a', n));
    await visit(page, service, 'queues/keys');
    await page.getByRole('link', { name: ids[0]! }).waitFor();
    await page.keyboard.press('j');
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
  });

  test('a queue is paused, resumed and removed', async () => {
    await service.enqueue('whole', 'a', 1);
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
  });

  test('all queues are paused and resumed, and the list says so', async () => {
    await service.enqueue('all-1', 'a', 1);
    await service.enqueue('all-2', 'a', 1);
    await visit(page, service, 'queues');
    const { items } = await service.done('GET', 'queues');
    const isPaused = async (): Promise<boolean[]> =>
      Promise.all(
        ['all-1', 'all-2'].map(async (name) => (await service.done('GET', `queues/${name}`)).isPaused),
      );
    await button('Pause all').click();
    await submit(`Pause ${items.length} queues`).click();
    await page.getByText(`${items.length} queues paused.`).waitFor();
    expect(await isPaused()).toEqual([true, true]);
    const row = page.getByRole('row', { name: /all-2/ });
    await row.getByText('paused').waitFor();
    await button('Resume all').click();
    await submit(`Resume ${items.length} queues`).click();
    await row.getByText('paused').waitFor({ state: 'detached' });
    expect(await isPaused()).toEqual([false, false]);
  });

  test('the settings of a queue say which tasks its workers handle', async () => {
    await service.done('PUT', 'queues/handled', {});
    await visit(page, service, 'queues/handled/settings');
    await page.getByText('none: no worker with handlers runs').waitFor();
    const { Worker } = await import('@mortise/queues');
    await using worker = new Worker(
      redis,
      ['handled'],
      { b: () => 1, c: () => 2 },
      { prefix: service.prefix },
    );
    await worker.start();
    await until(
      'names',
      async () => (await service.done('GET', 'queues/handled/task-names')).items.length === 2,
    );
    await page.reload();
    await page.getByText('b, c', { exact: true }).waitFor();
    expect(await page.getByText('no worker with handlers runs').count()).toBe(0);
  });

  test('a filter that is not understood acts on no task that was not selected', async () => {
    await service.enqueue('typos', 'a', { n: 1 });
    for (const typo of ['nmae:b', 'payload.n:1 payload.n:2', 'state:ready']) {
      await visit(page, service, `queues/typos?q=${encodeURIComponent(`state:ready ${typo}`)}`);
      await page.getByRole('checkbox').nth(1).waitFor();
      await page.getByText('Not understood').waitFor();
      expect(await button('Delete').count()).toBe(0);
    }
    await page.getByRole('checkbox').nth(1).check();
    await page.getByText('1 task selected').waitFor();
    expect(await button('Delete').count()).toBe(1);
  });

  test('a number that would be rounded is not enqueued', async () => {
    const id = await service.enqueue('exact', 'a', {});
    await visit(page, service, `queues/exact/tasks/${id}`);
    await button('Run again, edited').click();
    await page.getByLabel('Payload').fill('{"text": "9007199254740993", "n": 9007199254740993}');
    await submit('Enqueue').click();
    await page.getByText('would be rounded').waitFor();
    await page.getByLabel('Payload').fill('{"text": "9007199254740993", "n": 9007199254740991}');
    await submit('Enqueue').click();
    await page.getByText('9007199254740991').waitFor();
    expect((await service.done('GET', 'queues/exact')).counts.ready).toBe(2);
  });

  test('a number that JavaScript would round is shown as another program has stored it', async () => {
    const id = await service.enqueue('rounding', 'a', 0);
    const key = `${service.prefix}:queues:{rounding}:tasks`;
    const [field] = await redis.hkeysBuffer(key);
    const record = (await redis.hgetBuffer(key, field!))!;
    // The payload is at the end of the record.
    const payload = Buffer.from('{"order":12345678901234567890}');
    await redis.hset(key, field!, Buffer.concat([record.subarray(0, -1), payload]));
    await visit(page, service, `queues/rounding/tasks/${id}`);
    await page.getByText('As it is stored').waitFor();
    expect(await page.locator('pre').last().innerText()).toBe('{\n  "order": 12345678901234567890\n}');
    // A copy would have another number.
    expect(await button('Run again, edited').count()).toBe(0);
  });

  test('hidden members are not copied into a task', async () => {
    const id = await service.enqueue('hidden-members', 'a', { user: { password: 'canary' } });
    await visit(page, service, `queues/hidden-members/tasks/${id}`);
    await page.getByText('"[redacted]"').waitFor();
    await button('Cancel').waitFor();
    expect(await button('Run again, edited').count()).toBe(0);
    expect(await page.content()).not.toContain('canary');
  });

  test('a payload of 3 MB is cut', async () => {
    // Bodies of the API are smaller: another program has enqueued it.
    const { Queue } = await import('@mortise/queues');
    const queue = new Queue(redis, 'big', { prefix: service.prefix, maxPayloadBytes: 4_194_304 });
    const { id } = await queue.enqueue('a', { text: 'x'.repeat(3_000_000) });
    await visit(page, service, `queues/big/tasks/${id}`);
    await page.getByText('The first 16 KiB of 2.9 MiB').waitFor();
    expect((await page.locator('pre').first().textContent())!.length).toBeLessThan(20_000);
  });
});

describe('the palette', () => {
  test('goes to a queue, and to a task by its id', async () => {
    const id = await service.enqueue('palette', 'a', 1);
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
  });
});

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
});

test('a member is added to a chat, moved on and removed; the chat ends with its last one', async () => {
  await service.done('POST', 'chats', { sender: 'ann', members: ['bob'], chatId: 'crew', body: 'hello' });
  await visit(page, service, 'chats/crew');
  const row = (member: string): Locator => page.getByRole('row', { name: new RegExp(`^${member} `) });
  const members = async (): Promise<string> => {
    const { items } = await service.done('GET', 'chats/crew/members');
    return items
      .map(({ member, ackedId }: { member: string; ackedId: number }) => `${member} ${ackedId}`)
      .join(', ');
  };
  await button('Add').click();
  await page.getByLabel('Name').fill('cid');
  await submit('Add').click();
  await row('cid').waitFor();
  expect(await members()).toBe('ann 1, bob 0, cid 1');
  await row('bob').getByRole('button', { name: 'Advance' }).click();
  await submit('Ack 1 message').click();
  await until('bob is moved on', async () => (await members()) === 'ann 1, bob 1, cid 1');
  for (const member of ['ann', 'bob', 'cid']) {
    await row(member).getByRole('button', { name: 'Remove' }).click();
    await submit('Remove').click();
    await row(member).waitFor({ state: 'detached' });
  }
  await page.getByText('There is no such chat.').waitFor();
});

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
});

test('a tenant is added with a key of its own, which is rotated and revoked, and removed', async () => {
  await visit(page, service, 'access/tenants');
  await button('Add a tenant').click();
  await page.getByRole('textbox', { name: /^Id/ }).fill('acme');
  await page.getByRole('textbox', { name: 'Name' }).fill('Acme Ltd.');
  await page.getByLabel('Tasks at most').fill('500');
  await submit('Add').click();
  await page.getByText('500 tasks').waitFor();
  expect(await service.done('GET', 'admin/tenants/acme')).toMatchObject({
    name: 'Acme Ltd.',
    quotas: { tasks: 500 },
  });

  await page.getByRole('link', { name: 'API keys' }).click();
  await button('Make a key').click();
  await page.getByRole('textbox', { name: /^Id/ }).fill('acme-reader');
  await page.getByRole('textbox', { name: /^Tenant/ }).fill('acme');
  await submit('Make').click();
  const secret = page.getByText('The key of acme-reader').locator('code');
  const first = await secret.innerText();
  const row = page.getByRole('row', { name: /acme-reader/ });
  await row.getByRole('button', { name: 'Rotate' }).click();
  await page.getByLabel('Overlap').fill('0');
  await submit('Rotate').click();
  await until('another secret', async () => (await secret.innerText()) !== first);
  const statusOf = async (key: string): Promise<number> =>
    (await fetch(`${service.url}/v1/queues`, { headers: { authorization: `Bearer ${key}` } })).status;
  await until('the first one is refused', async () => (await statusOf(first)) === 401);
  expect(await statusOf(await secret.innerText())).toBe(200);

  // A second key of its id changes nothing.
  await button('Make a key').click();
  await page.getByRole('textbox', { name: /^Id/ }).fill('acme-reader');
  await page.getByRole('textbox', { name: /^Scopes/ }).fill('locks:admin');
  await submit('Make').click();
  await page.getByText('There is a key acme-reader already: nothing was changed.').waitFor();
  await submit('Cancel').click();
  expect((await service.done('GET', 'admin/keys/acme-reader')).scopes).toEqual(['queues:read']);

  await row.getByRole('button', { name: 'Revoke' }).click();
  await submit('Revoke').click();
  await row.waitFor({ state: 'detached' });
  await page.getByRole('link', { name: 'Tenants' }).click();
  await page.getByRole('row', { name: /acme/ }).getByRole('button', { name: 'Remove' }).click();
  await submit('Remove').click();
  await page.getByText('There is no tenant but the default one.').waitFor();
  expect((await service.call('GET', 'admin/tenants/acme')).status).toBe(404);
});

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
  await page.getByRole('cell', { name: 'web.log' }).waitFor();
  await button('Drop').click();
  await submit('Drop').click();
  await page.getByText('Nothing is left to receive.').waitFor();

  await service.enqueue('planned', 'a', 1);
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
  await button('Add a schedule').click();
  await page.getByRole('textbox', { name: /^Key/ }).fill('often');
  await page.getByRole('textbox', { name: 'Name of the task' }).fill('report');
  await submit('Store').click();
  await page.getByRole('alert').getByText('cron: needs to be there, or else everyMs').waitFor();
  await page.getByRole('spinbutton', { name: /^Every/ }).fill('90');
  await submit('Store').click();
  await page.getByRole('cell', { name: 'often' }).waitFor();
  const [often] = (await service.done('GET', 'queues/planned/schedules')).items;
  expect(often).toMatchObject({ key: 'often', everyMs: 90_000 });
});
