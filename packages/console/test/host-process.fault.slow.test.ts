/** The process of the host dies: tabs come back to the next one, and miss nothing. */
import { fork } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';

import { afterEach, expect, test } from '@jest/globals';
import { Queue } from '@mortise/queues';
import { freshPrefix, until } from '@mortise/test-kit';

import { Follower } from './fixture/follower.js';
import { ask, redis } from './fixture/serve.js';

const KILLS = 5;
const prefix = freshPrefix();
const queue = new Queue(redis, 'mail', { prefix });

let host: ChildProcess | undefined;
afterEach(() => kill());

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

async function start(port: number): Promise<void> {
  const given = { url: process.env['MORTISE_TEST_REDIS'], prefix, port };
  host = fork(join(import.meta.dirname, 'fixture/host-process.mjs'), [JSON.stringify(given)], {
    execArgv: [],
    env: { ...process.env, NODE_OPTIONS: '' },
  });
  await once(host, 'message');
}

async function kill(): Promise<void> {
  if (!host || host.signalCode !== null || host.exitCode !== null) return;
  const exit = once(host, 'exit');
  host.kill('SIGKILL');
  await exit;
}

test(`${KILLS} kills: each event comes once, in order`, async () => {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  await queue.enqueue('first', {});
  await start(port);
  const sent: string[] = [];
  const enqueue = async (): Promise<void> => void sent.push((await queue.enqueue('t', {})).id);
  const seen: string[] = [];
  let last: string | undefined;
  for (let n = 0; n <= KILLS; n += 1) {
    const tab = await new Follower().open(
      url,
      'queue:mail',
      last === undefined ? {} : { 'last-event-id': last },
    );
    await enqueue();
    await until('all events', () => tab.events.at(-1)?.task === sent.at(-1));
    // Some of these reach the tab, the others come after the death.
    const during = Promise.all([enqueue(), enqueue(), enqueue()]);
    await kill();
    await tab.ended;
    await during;
    await enqueue();
    expect(tab.events.map(({ type }) => type)).not.toContain('reset');
    seen.push(...tab.events.flatMap(({ task }) => (task === undefined ? [] : [task])));
    last = tab.events.at(-1)!.id;
    await start(port);
  }
  const end = await new Follower().open(url, 'queue:mail', { 'last-event-id': last! });
  await until('the rest', () => end.events.at(-1)?.task === sent.at(-1));
  seen.push(...end.events.flatMap(({ task }) => (task === undefined ? [] : [task])));
  end.leave();
  const events = await queue.lastEvents();
  const order = events.filter(({ name }) => name !== 'first').map(({ id }) => id);
  expect(order).toHaveLength(sent.length);
  expect(seen).toEqual(order);
});

test('an operation whose process dies is interrupted, and a new one does the rest', async () => {
  const bulk = new Queue(redis, 'bulk', { prefix });
  const tasks = Array.from({ length: 20_000 }, (_, n) => ({ name: 't', payload: n }));
  await bulk.enqueueMany(tasks);
  const port = await freePort();
  await start(port);
  const base = `http://127.0.0.1:${port}/console/v1/`;
  const begin = async () =>
    (
      await ask(`${base}queues/bulk/bulk-operations`, 'POST', {
        action: 'remove',
        state: 'ready',
        limit: 50_000,
      })
    ).json;
  const { id } = await begin();
  await until('the first changes', async () => (await bulk.counts()).ready < tasks.length);
  await kill();
  const { ready } = await bulk.counts();
  expect(ready).toBeGreaterThan(0);
  await start(port);
  const statusOf = async (operation: string) =>
    (await ask(`${base}operations/${operation}`, 'GET')).json.status;
  await until('the interruption', async () => (await statusOf(id)) === 'interrupted');
  const next = await begin();
  await until('the end', async () => (await statusOf(next.id)) === 'completed');
  expect(await bulk.counts()).toMatchObject({ ready: 0 });
});
