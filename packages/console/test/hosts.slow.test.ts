/** The console in servers of each kind, mounted as docs/console/mounting.md says. */
import { once } from 'node:events';
import { connect as connectTo } from 'node:net';

import { beforeAll, describe, expect, test } from '@jest/globals';
import { consoleHandler } from '@mortise/console';
import { Queue } from '@mortise/queues';
import { freshPrefix, until } from '@mortise/test-kit';
import express from 'express';

import { Follower } from './fixture/follower.js';
import { EXACT, PARSING } from './fixture/hosts.js';
import type { HostOptions } from './fixture/hosts.js';
import { ask, listen, redis, SAME_ORIGIN } from './fixture/serve.js';

/** One more than JavaScript has. */
const ROUNDED = '9007199254740993';
const JSON_TYPE = { ...SAME_ORIGIN, 'content-type': 'application/json' };
/** Streams of a process. */
const MAX_STREAMS = 100;

const RIGHTS: Readonly<Record<string, 'read' | 'change'>> = { olga: 'change', rudi: 'read' };

const authorize: HostOptions['authorize'] = async ({ headers: { 'x-user': user = 'olga' } }) => {
  await new Promise(setImmediate);
  if (user === 'error') throw new Error('the database of users is away');
  return RIGHTS[user as string];
};

describe.each([...Object.entries(EXACT), ...Object.entries(PARSING)])('%s', (name, start) => {
  const prefix = freshPrefix();
  const queue = new Queue(redis, 'mail', { prefix });
  const errors: unknown[] = [];
  let url: string;
  beforeAll(async () => {
    url = await start({
      prefix,
      authorize,
      onAction: () => undefined,
      onError: (error) => errors.push(error),
    });
  });

  test('shows the page, and the pages of the host beside it', async () => {
    expect(await ask(`${url}/console`, 'GET')).toMatchObject({ status: 308 });
    const page = await ask(`${url}/console/queues/mail?q=state:dead`, 'GET');
    expect(page.status).toBe(200);
    expect(page.json).toContain('<div id="app">');
    expect(page.headers.get('content-security-policy')).toContain("script-src 'self'");
    const home = await ask(`${url}/`, 'GET');
    expect(home.status).toBe(name === 'node:http' ? 404 : 200);
  });

  test('answers the page: a task is enqueued, read and removed', async () => {
    const task = { name: 'mail.sold', payload: { to: 'frank' } };
    const { status, json } = await ask(`${url}/console/v1/queues/mail/tasks`, 'POST', task);
    expect(status).toBe(201);
    const address = `${url}/console/v1/queues/mail/tasks/${json.id}`;
    expect((await ask(address, 'GET')).json).toMatchObject({ ...task, queue: 'mail', state: 'ready' });
    expect((await ask(`${url}/console/v1/queues/mail/pause`, 'POST')).status).toBe(204);
    expect((await ask(address, 'DELETE')).status).toBe(204);
    expect((await ask(address, 'GET')).json).toMatchObject({
      type: 'https://mortise.dev/problems/unknown-task',
      status: 404,
    });
    expect(await queue.settings()).toMatchObject({ isPaused: true });
  });

  test('a whole number that JavaScript rounds is refused, any other one arrives as it is', async () => {
    const send = (payload: string) =>
      ask(`${url}/console/v1/queues/mail/tasks`, 'POST', `{"name":"n","payload":${payload}}`, JSON_TYPE);
    const before = await queue.counts();
    for (const payload of [
      ROUNDED,
      `-${ROUNDED}`,
      `{"a":[{"b":${ROUNDED}}]}`,
      '1e999',
      '12345678901234567890123',
    ]) {
      const { status, json } = await send(payload);
      expect([payload, status, json.type]).toEqual([
        payload,
        400,
        `https://mortise.dev/problems/${name in EXACT ? 'invalid-body' : 'rounded-body'}`,
      ]);
      expect(json.detail).toContain('as a text');
    }
    expect(await queue.counts()).toEqual(before);
    for (const payload of [
      '9007199254740991',
      `"${ROUNDED}"`,
      '0.1234567890123456',
      ...(name in EXACT ? ['1e20'] : []),
    ]) {
      const { status, json } = await send(payload);
      expect([payload, status]).toEqual([payload, 201]);
      expect((await queue.get(json.id as string))!.payload).toEqual(JSON.parse(payload));
    }
  });

  test('asks for the right of each request, as the host has it', async () => {
    const read = (user: string) =>
      ask(`${url}/console/v1/queues`, 'GET', undefined, { ...SAME_ORIGIN, 'x-user': user });
    const change = (user: string) =>
      ask(`${url}/console/v1/queues/mail/resume`, 'POST', undefined, { ...SAME_ORIGIN, 'x-user': user });
    expect([(await read('rudi')).status, (await change('rudi')).json.type]).toEqual([
      200,
      'https://mortise.dev/problems/console-read-only',
    ]);
    expect([(await read('nobody')).status, (await change('nobody')).status]).toEqual([403, 403]);
    errors.length = 0;
    const { status, json } = await read('error');
    expect([status, json.title, json.detail]).toEqual([500, 'The server failed', undefined]);
    expect(errors).toEqual([new Error('the database of users is away')]);
    expect((await change('olga')).status).toBe(204);
  });

  test('several tabs see each event', async () => {
    const tabs = await Promise.all([1, 2, 3].map(() => new Follower().open(url, 'queue:mail,overview')));
    const { id } = await queue.enqueue('mail.sold', {});
    for (const { events } of tabs)
      await until('the event', () => events.some(({ type, task }) => type === 'enqueued' && task === id));
    for (const tab of tabs) tab.leave();
    const seen = tabs.map(({ events }) => events.filter(({ task }) => task === id).map(({ type }) => type));
    expect(seen).toEqual([['enqueued'], ['enqueued'], ['enqueued']]);
  });

  test('a client that dies within its body changes nothing, and the next one is served', async () => {
    const before = await queue.counts();
    const socket = connectTo(Number(new URL(url).port), new URL(url).hostname);
    await once(socket, 'connect');
    socket.write(
      `POST /console/v1/queues/mail/tasks HTTP/1.1\r\nhost: a\r\nsec-fetch-site: same-origin\r\n` +
        `content-type: application/json\r\ncontent-length: 40\r\n\r\n{"name":"n","payload":`,
    );
    await new Promise(setImmediate);
    socket.destroy();
    await once(socket, 'close');
    expect((await ask(`${url}/console/v1/queues`, 'GET')).status).toBe(200);
    expect(await queue.counts()).toEqual(before);
  });

  test('clients that die leave room for others', async () => {
    const tabs = await Promise.all(
      Array.from({ length: MAX_STREAMS }, () => new Follower().open(url, 'queue:mail')),
    );
    const further = () => ask(`${url}/console/v1/events?topics=queue:mail`, 'GET');
    expect((await further()).json).toMatchObject({ status: 503, limit: MAX_STREAMS });
    for (const tab of tabs) tab.leave();
    const next = await until('room', () => new Follower().open(url, 'queue:mail').catch(() => undefined));
    expect(next.events.map(({ type }) => type)).toEqual(['open']);
    next.leave();
  });
});

describe('a console below another path', () => {
  const mount = '/admin/tasks';
  const options = { prefix: freshPrefix(), authorize: () => 'change' as const, mount };

  test.each([
    ['/admin', '/tasks'],
    ['/admin/tasks', '/'],
    ['/', '/admin/tasks'],
  ])('of routers at %s and %s', async (first, second) => {
    await using handler = consoleHandler(redis, options);
    const app = express();
    app.use(first, express.Router().use(second, handler));
    app.use((_request, response) => void response.status(418).end());
    const url = await listen(app);
    const page = await ask(`${url}${mount}/`, 'GET');
    expect([page.status, page.json]).toEqual([200, expect.stringContaining(`${mount}/v1/`)]);
    expect((await ask(`${url}${mount}`, 'GET')).headers.get('location')).toBe(`${mount}/`);
    expect((await ask(`${url}${mount}/v1/queues?limit=1`, 'GET')).status).toBe(200);
    for (const other of ['/', '/admin', '/tasks/', '/console/', `${mount}s/`])
      expect([other, (await ask(url + other, 'GET')).status]).toEqual([other, 418]);
  });
});

test('a body that the host has read and thrown away is refused, and reported with the remedy', async () => {
  const errors: Error[] = [];
  const prefix = freshPrefix();
  const handler = consoleHandler(redis, {
    prefix,
    authorize: () => 'change',
    onAction: () => undefined,
    onError: (error) => errors.push(error as Error),
  });
  const url = await listen((request, response) => {
    request.resume();
    request.once('end', () => void handler(request, response));
  });
  const { status, json } = await ask(`${url}/console/v1/queues/mail/tasks`, 'POST', {
    name: 'n',
    payload: 1,
  });
  expect([status, json.type]).toEqual([500, 'https://mortise.dev/problems/body-consumed']);
  expect(errors.map(({ message }) => message)).toEqual([
    'mount the console before the code that reads bodies',
  ]);
  expect(await Queue.names(redis, { prefix })).toEqual([]);
  await handler.close();
});
