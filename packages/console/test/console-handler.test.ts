/** The rights of its readers, and the audit of their actions. */
import { beforeAll, describe, expect, jest, test } from '@jest/globals';
import { consoleHandler } from '@mortise/console';
import type { ConsoleOptions } from '@mortise/console';

import { ask, redis, SAME_ORIGIN, serve } from './fixture/serve.js';

describe('rights', () => {
  test.each([
    ['without authorize', {}],
    ['with an authorize that is no function', { authorize: 'change' }],
    ['with an unknown option', { authorize: () => 'read', autorize: () => 'read' }],
    ['with a mount that is no path', { authorize: () => 'read', mount: '/a"b' }],
    ['with a mount of dots', { authorize: () => 'read', mount: '/..' }],
  ])('%s it is not made', (_, options) => {
    expect(() => consoleHandler(redis, options as unknown as ConsoleOptions)).toThrow(
      expect.objectContaining({ code: 'ERR_INVALID_ARG' }),
    );
  });

  test.each([undefined, null, false, true, 'admin', {}])(
    '%p is no right: not even to the page',
    async (right) => {
      const { url, actions } = await serve({ authorize: () => right as undefined });
      for (const path of [
        'console',
        'console/',
        'console/icon.svg',
        'console/v1/session',
        'console/v1/queues',
      ]) {
        const { status, json } = await ask(`${url}/${path}`, 'GET');
        expect([path, status, json.title]).toEqual([
          path,
          403,
          'The console is closed to the sender of the request',
        ]);
      }
      expect((await ask(`${url}/console/v1/queues/mail/pause`, 'POST')).status).toBe(403);
      expect(actions).toEqual([]);
    },
  );

  test('an authorize that fails refuses, and its error is reported, not shown', async () => {
    const failure = new Error('the database of users is away');
    const { url, errors } = await serve({ authorize: () => Promise.reject(failure) });
    const { status, json } = await ask(`${url}/console/v1/queues`, 'GET');
    expect([status, json.title, json.detail]).toEqual([500, 'The server failed', undefined]);
    expect(errors).toEqual([failure]);
  });

  test('a reader sees everything, and every change is refused and reported', async () => {
    const served = await serve({ authorize: async ({ url }) => (url ? 'read' : undefined) });
    await served.queue('mail').enqueue('t', 1, { id: 'a' });
    expect((await served.call('GET', 'session')).json).toMatchObject({
      scopes: ['queues:read'],
      console: 'read-only',
      canSignOut: false,
    });
    expect((await served.call('GET', 'queues/mail/tasks/a')).json).toMatchObject({ payload: 1 });
    for (const [method, path] of [
      ['DELETE', 'queues/mail/tasks/a'],
      ['POST', 'queues/mail/tasks'],
      ['PUT', 'queues/mail'],
      ['PATCH', 'anything'],
    ] as const) {
      const { status, json } = await served.call(method, path);
      expect([status, json.type]).toEqual([403, 'https://mortise.dev/problems/console-read-only']);
    }
    expect(served.actions.map(({ method, path, status }) => [method, path, status])).toEqual([
      ['DELETE', 'queues/mail/tasks/a', 403],
      ['POST', 'queues/mail/tasks', 403],
      ['PUT', 'queues/mail', 403],
      ['PATCH', 'anything', 403],
    ]);
    expect(await served.queue('mail').counts()).toMatchObject({ ready: 1 });
  });

  test('a page that says whom it shows gets the rights of each request', async () => {
    const served = await serve({
      authorize: ({ headers }) => (headers.cookie === 'user=frank' ? 'change' : undefined),
    });
    const session = (cookie: string) => served.call('GET', 'session', undefined, { ...SAME_ORIGIN, cookie });
    expect((await session('user=frank')).json).toMatchObject({ console: 'on' });
    expect((await session('user=bill')).status).toBe(403);
  });
});

describe('pages of others', () => {
  const OWN: readonly Record<string, string>[] = [
    SAME_ORIGIN,
    { 'sec-fetch-site': 'same-origin', origin: 'https://behind.a.proxy' },
  ];
  const FOREIGN: readonly Record<string, string>[] = [
    {},
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
    { 'sec-fetch-site': 'none' },
    { 'sec-fetch-site': 'cross-site', origin: 'null' },
    { origin: 'https://evil.example' },
    { origin: 'null' },
    { origin: 'file://' },
  ];
  let served: Awaited<ReturnType<typeof serve>>;
  beforeAll(async () => {
    served = await serve();
    await served.queue('mail').enqueue('t', 1);
  });

  test.each(OWN)('%j: the own page changes', async (headers) => {
    expect((await served.call('POST', 'queues/mail/resume', undefined, headers)).status).toBe(204);
  });

  test('an old browser names the origin alone', async () => {
    const { status } = await served.call('POST', 'queues/mail/resume', undefined, { origin: served.url });
    expect(status).toBe(204);
  });

  test.each(FOREIGN)('%j changes nothing, and authorize is not asked', async (headers) => {
    const asked = jest.fn(() => 'change' as const);
    const other = await serve({ authorize: asked });
    const { status, json } = await other.call('POST', 'queues/mail/pause', undefined, headers);
    expect([status, json.type]).toEqual([403, 'https://mortise.dev/problems/foreign-origin']);
    expect(asked).not.toHaveBeenCalled();
    expect(other.actions).toEqual([]);
  });

  test.each([
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
    { origin: 'https://a.example' },
  ])('%j reads nothing', async (headers) => {
    expect((await served.call('GET', 'queues', undefined, headers)).status).toBe(403);
  });

  test('a link of another page leads to the console', async () => {
    const { status } = await ask(`${served.url}/console/`, 'GET', undefined, {
      'sec-fetch-site': 'cross-site',
    });
    expect(status).toBe(200);
  });

  test('a form cannot be the body', async () => {
    const headers = { ...SAME_ORIGIN, 'content-type': 'text/plain' };
    const { status } = await served.call('POST', 'queues/mail/tasks', '{"name":"t","payload":1}', headers);
    expect(status).toBe(415);
  });

  test('no answer may be read by other pages or be shown in a frame', async () => {
    const { headers } = await served.call('GET', 'queues');
    expect(headers.get('access-control-allow-origin')).toBeNull();
    expect(headers.get('content-security-policy')).toBe("default-src 'none'; frame-ancestors 'none'");
    expect(headers.get('x-frame-options')).toBe('DENY');
    expect(headers.get('cache-control')).toBe('no-store');
  });

  test('only known names of the host are answered', async () => {
    const local = await serve({ hosts: ['console.example'] });
    expect((await local.call('GET', 'queues')).json).toMatchObject({
      title: 'The API is not served under this host name',
    });
    const known = await serve({ hosts: ['127.0.0.1'] });
    expect((await known.call('GET', 'queues')).status).toBe(200);
  });
});

describe('actions', () => {
  test('each is reported before its answer, with the request, refused or not', async () => {
    const served = await serve();
    await served.queue('mail').enqueue('t', 1, { id: 'a' });
    await served.call('POST', 'queues/mail/tasks/a/cancel', { reason: 'not wanted' });
    await served.call('POST', 'queues/mail/tasks/a/cancel', {});
    await served.call('GET', 'queues/mail/tasks/a');
    expect(served.actions).toEqual([
      expect.objectContaining({ method: 'POST', path: 'queues/mail/tasks/a/cancel', status: 204 }),
      expect.objectContaining({ method: 'POST', path: 'queues/mail/tasks/a/cancel', status: 409 }),
    ]);
    expect(served.actions[0]!.request.headers).toMatchObject(SAME_ORIGIN);
  });

  test('one that cannot be written down is reported, and answered', async () => {
    const failure = new Error('the log is full');
    const served = await serve({ onAction: () => Promise.reject(failure) });
    await served.queue('mail').enqueue('t', 1);
    expect((await served.call('POST', 'queues/mail/pause')).status).toBe(204);
    expect(served.errors).toEqual([failure]);
  });

  test('are lines on stderr without onAction', async () => {
    const lines = jest.spyOn(console, 'error').mockImplementation(() => undefined);
    const served = await serve({ onAction: undefined });
    await served.call('POST', 'queues/none/pause');
    expect(lines.mock.calls).toEqual([
      [
        expect.stringMatching(
          /^mortise console: \{"at":\d+,"method":"POST","path":"queues\/none\/pause","status":404\}$/,
        ),
      ],
    ]);
    lines.mockRestore();
  });
});

describe('close', () => {
  test('ends streams, and refuses new ones', async () => {
    const served = await serve();
    await served.queue('mail').enqueue('t', 1);
    const open = () => fetch(`${served.url}/console/v1/events?topics=queue:mail`, { headers: SAME_ORIGIN });
    const response = await open();
    const text = response.text();
    await served.handler.close();
    expect(await text).toContain('event: dropped\ndata: {"reason":"shutting-down"}');
    expect((await open()).status).toBe(503);
  });
});

test('nothing is sent to Redis before a request comes', async () => {
  const calls = jest.spyOn(redis, 'sendCommand');
  await serve();
  expect(calls).not.toHaveBeenCalled();
  calls.mockRestore();
});
