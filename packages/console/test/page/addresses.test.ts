/** The page is that of the HTTP service: the handler has each address that its areas of queues ask for. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, test } from '@jest/globals';
import { until } from '@mortise/test-kit';

import { serve } from '../fixture/serve.js';

const AREAS = join(import.meta.dirname, '../../../../apps/api/console/src/areas');
const METHOD_AND_ADDRESS = /(?:'(GET|POST|PUT|DELETE)',\s*(?:withQuery\()?)?path`([^`]+)`/g;

/** Such as `POST queues/x/pause`, without a method where the code has none beside the address. */
function addresses(): string[] {
  const found = ['overview', 'queues'].flatMap((area) =>
    readdirSync(join(AREAS, area)).flatMap((file) => {
      const text = readFileSync(join(AREAS, area, file), 'utf8');
      return [...text.matchAll(METHOD_AND_ADDRESS)].map(
        ([, method = '', address]) => `${method} ${address!.replaceAll(/\$\{[^}]*\}/g, 'x')}`,
      );
    }),
  );
  return [...new Set(found)].toSorted((a, b) => (a < b ? -1 : 1));
}

test('each address of the page is one of the handler', async () => {
  const served = await serve();
  const wanted = addresses();
  expect(wanted).toEqual(expect.arrayContaining([' queues/x/tasks', 'POST queues/x/bulk-operations']));
  const missing: string[] = [];
  for (const each of wanted) {
    const [method, address] = each.split(' ');
    const { json } = await served.call(method || 'GET', address!);
    const slug = String(json.type).split('/').at(-1);
    if (slug === 'unknown-route' || (method !== '' && slug === 'method-not-allowed')) missing.push(each);
  }
  expect(missing).toEqual([]);
});

test('a queue is cleaned, and its dead tasks are retried, as a whole', async () => {
  const served = await serve();
  const queue = served.queue('mail');
  await queue.enqueueMany([1, 2, 3].map((payload) => ({ name: 't', payload })));
  const act = async (action: string, state: string): Promise<unknown> => {
    const { json } = await served.call('POST', 'queues/mail/bulk-operations', { action, state });
    return json.status;
  };
  expect(await act('cancel', 'ready')).toBe('running');
  await until('the cancelled tasks', async () => (await queue.counts()).cancelled === 3);
  expect(await act('retry', 'cancelled')).toBe('running');
  await until('the ready tasks', async () => (await queue.counts()).ready === 3);
  await act('cancel', 'ready');
  await until('the cancelled tasks', async () => (await queue.counts()).cancelled === 3);
  expect(await act('remove', 'cancelled')).toBe('running');
  await until('an empty queue', async () => (await queue.counts()).cancelled === 0);
  expect(await queue.counts()).toMatchObject({ ready: 0, dead: 0, cancelled: 0 });
});
