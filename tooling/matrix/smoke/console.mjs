/** The handler in a server of node:http. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { consoleHandler } from '@mortise/console';
import { Queue, Worker } from '@mortise/queues';

const OWN = { 'sec-fetch-site': 'same-origin' };

/** @returns `{ call, events }` of a server that answers with the handler */
async function serve(handler) {
  const server = createServer((request, response) => void handler(request, response)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${server.address().port}/console/`;
  const call = async (method, path, body) => {
    const headers = { ...OWN, ...(body !== undefined && { 'content-type': 'application/json' }) };
    const sent = body === undefined ? {} : { body: JSON.stringify(body) };
    const response = await fetch(url + path, { method, headers, ...sent });
    const text = await response.text();
    const isJson = response.headers.get('content-type')?.includes('json');
    return { status: response.status, json: isJson ? JSON.parse(text) : text };
  };
  const close = async () => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  };
  return { url, call, close };
}

export async function smoke({ connect, prefix, until }) {
  const redis = await connect();
  let right = 'change';
  const actions = [];
  const handler = consoleHandler(redis, {
    prefix,
    authorize: () => right,
    onAction: ({ path, status }) => actions.push([path, status]),
  });
  const { url, call, close } = await serve(handler);
  const page = await call('GET', '');
  assert.ok(page.json.includes('<div id="app">'), `the page: ${page.status}`);
  await tasks(call, until);
  await followed({ redis, prefix, url, until });
  right = 'read';
  assert.equal((await call('POST', 'v1/queues/mail/pause')).status, 403);
  right = undefined;
  assert.equal((await call('GET', 'v1/queues')).status, 403);
  assert.deepEqual(actions.at(-1), ['queues/mail/pause', 403]);
  await handler.close();
  await close();
  // Its verbs are those of the queue, which have a program of their own.
  return { count: 0, missing: () => [] };
}

async function tasks(call, until) {
  const task = { name: 'sold', payload: { to: 'frank', password: 'x' }, id: 'a' };
  assert.equal((await call('POST', 'v1/queues/mail/tasks', task)).status, 201);
  const { json: found } = await call('GET', 'v1/queues/mail/tasks/a');
  assert.deepEqual(found.payload, { to: 'frank', password: '[redacted]' });
  const { json: list } = await call('GET', 'v1/queues/mail/tasks?state=ready&field=to&equals=frank');
  assert.deepEqual(
    list.items.map(({ id }) => id),
    ['a'],
  );
  assert.equal((await call('GET', 'v1/overview')).json.queues[0].counts.ready, 1);
  const body = { action: 'cancel', state: 'ready' };
  const { json: operation } = await call('POST', 'v1/queues/mail/bulk-operations', body);
  const ended = async () => (await call('GET', `v1/operations/${operation.id}`)).json.status === 'completed';
  await until(ended, 'the operation');
  assert.equal((await call('POST', 'v1/queues/mail/tasks/a/retry')).status, 204);
  const schedule = { everyMs: 60_000, name: 'sold', payload: 1 };
  assert.equal((await call('PUT', 'v1/queues/mail/schedules/s', schedule)).status, 200);
  assert.equal((await call('DELETE', 'v1/queues/mail/schedules/s')).status, 204);
}

/** A tab sees a task end. */
async function followed({ redis, prefix, url, until }) {
  const ended = new AbortController();
  const options = { headers: OWN, signal: ended.signal };
  const response = await fetch(`${url}v1/events?topics=queue:mail,overview`, options);
  let text = '';
  const reading = (async () => {
    const decoder = new TextDecoder();
    for await (const chunk of response.body) text += decoder.decode(chunk, { stream: true });
  })().catch(() => undefined);
  await until(() => text.includes('event: overview'), 'the overview');
  const worker = new Worker(redis, ['mail'], { sold: async () => 'done' }, { prefix });
  await worker.start();
  const queue = new Queue(redis, 'mail', { prefix });
  assert.equal(await queue.result('a', { waitMs: 20_000 }), 'done');
  await until(() => text.includes('event: succeeded'), 'the event');
  ended.abort();
  await reading;
  await worker.stop();
}
