/** The hooks in React 19, in a page of Chromium. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Chats } from '@mortise/messaging';
import { Claims, Queue } from '@mortise/queues';
import { connect, until } from '@mortise/test-kit';
import { KEY, Service } from '../fixture/service.js';

declare const show: (shown: { url: string; credential: string; task: string }) => void;

const redis = connect();
const service = new Service();
beforeAll(() => service.start(['components']), 120_000);
afterAll(() => service.stop());

test('components show a task, a chat and a topic, through a killed API', async () => {
  const { prefix } = service;
  const queue = new Queue(redis, 'shown', { prefix });
  const claims = new Claims(redis, 'shown', { prefix });
  const chats = new Chats(redis, { prefix });
  await queue.configure({ keepEvents: 1_000 });
  await chats.create({ sender: 'frank', chatId: 'garage', members: ['bill'] });
  await chats.post('garage', 'frank', 'unread');
  const { id } = await queue.enqueue('work', null);

  const page = await service.page('components');
  const troubles: string[] = [];
  page.on('pageerror', (error) => troubles.push(error.message));
  await page.evaluate((shown) => show(shown), { url: service.url, credential: KEY, task: id });
  const shows = (selector: string, text: string): Promise<unknown> =>
    page.locator(selector, { hasText: new RegExp(`^${text}$`) }).waitFor();
  await shows('#state', 'open');
  await shows('#task', 'ready null');
  await shows('li', 'frank: unread');
  await shows('#counter', '0 start');

  await page.getByRole('button', { name: 'post' }).click();
  await shows('li', 'bill: reply 1');
  const [claim] = await claims.claim({ limit: 1, waitMs: 5_000 });
  await claims.progress(id, claim!.lease, { percent: 50 });
  await shows('#task', 'active {"percent":50}');
  await shows('#counter', '2 start');

  await service.killApi();
  await shows('#state', 'cut');
  await chats.post('garage', 'frank', 'meanwhile');
  await claims.complete(id, claim!.lease, null);
  await service.startApi();
  await shows('#task', 'succeeded {"percent":50}');
  await shows('li', 'frank: meanwhile');
  expect(await page.locator('li').allTextContents()).toEqual([
    'frank: unread',
    'bill: reply 1',
    'frank: meanwhile',
  ]);
  await shows('#gap', 'false');
  await shows('#counter', '3 start');

  await page.getByRole('button', { name: 'ack' }).click();
  await until('the ack', async () => (await chats.pull('bill')).length === 0);
  await page.getByRole('button', { name: 'toggle' }).click();
  await shows('#state', 'idle');
  await page.getByRole('button', { name: 'toggle' }).click();
  await shows('#counter', '0 start');
  await shows('#task', 'succeeded {"percent":50}');
  expect(troubles).toEqual([]);
  await claims.stop();
});
