/**
 * Secrets of both apps, put wherever a request, a mail server or a receiver of webhooks can put them, while all is well and while Redis
 * refuses: no line of a log, no scrape and no answer has them. Names are no secrets: ids of queues, tasks and players are logged.
 */
import { randomBytes } from 'node:crypto';

import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startSingle } from '@mortise/redis-server';
import type { RedisServer } from '@mortise/redis-server';
import { until } from '@mortise/test-kit';

import { Game } from './fixture/game.js';
import { Program } from './fixture/programs.js';
import { SmtpPeer } from './fixture/smtp-peer.js';
import { WebhookReceiver } from './fixture/webhook-receiver.js';

const secretOf = (name: string): string => `canary-${name}-${randomBytes(12).toString('hex')}`;
const SECRETS = {
  redis: secretOf('redis'),
  formerRedis: secretOf('former-redis'),
  admin: secretOf('admin'),
  smtp: secretOf('smtp'),
  database: secretOf('database'),
  webhook: Buffer.from(secretOf('webhook')).toString('base64'),
  /** Of nobody: a key that somebody tries. */
  tried: secretOf('tried'),
};
const ADMIN_KEY = `mk_admin_${SECRETS.admin}`;
/** Created by the test. */
let key = '';

const METRICS_OF = 'health checks and metrics are answered';

let server: RedisServer;
let game: Game;
let peer: SmtpPeer;
let receiver: WebhookReceiver;
let isLoginRefused = true;
let api: Program;
let worker: Program;
const answers: string[] = [];

const allSecrets = (): string[] => [...Object.values(SECRETS), key.split('_').slice(2).join('_')];
const setPassword = (password: string): Promise<unknown> =>
  server.command('ACL', 'SETUSER', 'app', 'on', 'resetpass', `>${password}`, '~*', '&*', '+@all');

interface Sent {
  readonly method?: string;
  readonly headers?: Record<string, string>;
  /** As JSON, or the text as it is. */
  readonly body?: object | string;
}

async function send(path: string, { method, headers = {}, body }: Sent = {}): Promise<Response> {
  const { url } = await api.said('listening');
  const response = await fetch(`${String(url)}${path}`, {
    method: method ?? (body === undefined ? 'GET' : 'POST'),
    headers: { authorization: `Bearer ${key || ADMIN_KEY}`, 'content-type': 'application/json', ...headers },
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  const text = await response.clone().text();
  const head = JSON.stringify([...response.headers]);
  answers.push(`${response.status} ${head} ${text}`);
  return response;
}

beforeAll(async () => {
  server = await startSingle();
  await setPassword(SECRETS.redis);
  game = new Game({ REDIS_URL: server.url, REDIS_USERNAME: 'app', REDIS_PASSWORD: SECRETS.redis });
  peer = await SmtpPeer.start({
    authOptional: false,
    onAuth: ({ password = '' }, _session, callback) => {
      if (isLoginRefused) callback(Object.assign(new Error(`no ${password}`), { responseCode: 535 }));
      else callback(null, { user: 'user' });
    },
  });
  receiver = await WebhookReceiver.start();
  const variables = { ...game.variables, LOG_LEVEL: 'trace', CACHE_TABLES: 'stock' };
  api = new Program('api', { ...variables, PORT: '0', METRICS_PORT: '0', ADMIN_KEY });
  worker = new Program('worker', {
    ...variables,
    WORKER_PORT: '0',
    SMTP_URL: `smtp://user:${SECRETS.smtp}@127.0.0.1:${peer.port}`,
    DATABASE_URL: `postgres://user:${SECRETS.database}@127.0.0.1:9/shop`,
    WEBHOOK_SECRET: `whsec_${SECRETS.webhook}`,
    WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
    WEBHOOK_ALLOW_HTTP: 'true',
  });
  await game.putPlayers();
  await worker.said('worker has started');
  await until('readiness', async () => (await send('/health/ready')).status === 200);
  const scopes = [
    'queues:read',
    'queues:write',
    'locks:write',
    'messaging:write',
    'market:write',
    'cache:write',
  ];
  const created = await send('/v1/admin/keys/k', { method: 'PUT', body: { scopes } });
  // The one answer that has it.
  key = ((await created.json()) as { key: string }).key;
  answers.length = 0;
});

afterAll(async () => {
  await Promise.all([api, worker].map((program) => program[Symbol.asyncDispose]()));
  await Promise.all([game, peer, receiver].map((each) => each[Symbol.asyncDispose]()));
  await server.stop();
});

/** Requests that have a secret somewhere; most are refused. */
async function plant(secret: string): Promise<void> {
  const json = { password: secret, deep: [{ secret }] };
  const sent: readonly (readonly [string, Sent?])[] = [
    ['/v1/queues/q/tasks', { body: { name: 'a', payload: json } }],
    ['/v1/queues/q/tasks', { body: { name: 'a', payload: 1, headers: { authorization: secret } } }],
    ['/v1/queues/q/tasks', { body: { name: 'a', payload: 1, attempts: secret } }],
    ['/v1/queues/q/tasks', { body: { name: 1, payload: json } }],
    ['/v1/queues/q/tasks', { body: `{"name": "a", "payload": "${secret}` }],
    ['/v1/queues/q/tasks', { body: secret, headers: { 'content-type': secret } }],
    ['/v1/queues/q/tasks', { body: json, headers: { 'content-encoding': secret } }],
    [
      '/v1/queues/q/tasks',
      { body: { name: 'a', payload: 1 }, headers: { 'idempotency-key': `"${secret} ` } },
    ],
    [`/v1/queues?limit=${secret}`],
    [`/v1/queues/q/tasks?state=${secret}&cursor=${secret}`],
    [`/v1/queues/q?token=${secret}`],
    [`/v1/nothing?token=${secret}`],
    [`/v1/queues/q?token=%ff${secret}`],
    [`/v1/%ff${secret}`],
    ['/v1/mailboxes/frank/messages', { body: { from: 'bill', body: json } }],
    ['/v1/chats', { body: { sender: 'bill', members: [], body: json } }],
    ['/v1/locks/busy/acquire', { body: { leaseMs: secret } }],
    [
      '/v1/market/players/frank',
      { method: 'PUT', body: { name: 'Frank', email: `${secret}@example.com`, funds: -1 } },
    ],
    ['/v1/webhooks', { body: { url: `http://user:${secret}@127.0.0.1:9/`, type: 'a', data: json } }],
    ['/v1/webhooks', { body: { url: receiver.url(`/${secret}?token=${secret}`), type: 'a', data: json } }],
    ['/v1/queues/q', { headers: { authorization: `Bearer mk_k_${secret}` } }],
    ['/v1/queues/q', { headers: { authorization: `Basic ${secret}` } }],
    ['/v1/queues/q', { headers: { cookie: `mortise_session=${secret}` } }],
    [
      '/v1/queues/q',
      { headers: { traceparent: secret, referer: secret, 'user-agent': secret, origin: secret } },
    ],
    ['/v1/queues/q', { headers: { 'x-forwarded-for': secret, 'x-request-id': `${secret} x` } }],
  ];
  await Promise.all(sent.map(([path, request]) => send(path, request)));
}

/** Enqueues two mails; the peer answers with a secret. */
async function mail(code: number, secret: string): Promise<void> {
  peer.onRecipient = () => ({ code, text: `5.1.1 no ${secret} here` });
  await game.sell({}, { attempts: 1 });
  peer.onRecipient = () => undefined;
  peer.onData = () => ({ code, text: `try ${secret} again` });
  await game.sell({}, { attempts: 1 });
}

async function expectNoSecret(): Promise<void> {
  const ports = await Promise.all([api, worker].map((program) => program.said(METRICS_OF)));
  const scrapes = await Promise.all(
    ports.map(async ({ port }) => (await fetch(`http://127.0.0.1:${Number(port)}/metrics`)).text()),
  );
  expect(scrapes.join('')).toContain('mortise_http_request_seconds_count');
  const shown = [
    ...[api, worker].flatMap(({ output }) => output.split('\n')),
    ...scrapes.flatMap((scrape) => scrape.split('\n')),
    ...answers,
  ];
  // Arguments of commands may be bytes.
  const forms = allSecrets().flatMap((secret) => [secret, [...Buffer.from(secret)].join(',')]);
  expect(shown.filter((line) => forms.some((form) => line.includes(form)))).toEqual([]);
}

test('while all is well', async () => {
  receiver.onRequest = (response, index) => {
    const secret = allSecrets()[index % allSecrets().length]!;
    response.writeHead(index % 2 === 0 ? 500 : 302, { location: `http://127.0.0.1/${secret}` }).end(secret);
  };
  const refused = await game.sell({}, { attempts: 1 });
  expect((await game.taskIn('dead', refused)).error?.message).toContain('535');
  isLoginRefused = false;
  for (const secret of allSecrets()) {
    await plant(secret);
    await mail(450, secret);
    await mail(550, secret);
  }
  await until('the mails', async () => (await game.queue.counts()).dead >= 4);
  await until('the webhooks', () => receiver.received.length >= allSecrets().length);
  // They show the errors of the attempts, and not what the peers said.
  for (const state of ['dead', 'retrying']) {
    for (const queue of ['mail', 'webhook']) await send(`/v1/queues/${queue}/tasks?state=${state}`);
  }
  const { tasks } = await game.queue.list('dead', { limit: 10 });
  for (const { id } of tasks) await send(`/v1/queues/mail/tasks/${id}`);
  await send('/v1/cache/stock/rows/1', { method: 'PUT', body: { refreshMs: 1_000 } });
  await until('the database', () => /ECONNREFUSED/.test(worker.output));
  await expectNoSecret();
});

test('while Redis is full, forbids commands, and refuses the password', async () => {
  await server.command('CONFIG', 'SET', 'maxmemory', '1');
  await plant(SECRETS.tried);
  await server.command('CONFIG', 'SET', 'maxmemory', '0');
  await server.command('ACL', 'SETUSER', 'app', '-evalsha', '-eval', '-evalsha_ro', '-eval_ro', '-xadd');
  await plant(SECRETS.tried);
  await server.command('ACL', 'SETUSER', 'app', '+@all');
  // The apps have another password from now on.
  await setPassword(SECRETS.formerRedis);
  await server.command('CLIENT', 'KILL', 'USER', 'app');
  await api.said('redis is unavailable');
  await worker.said('redis is not reachable, trying until it is');
  await plant(SECRETS.tried);
  await setPassword(SECRETS.redis);
  await api.said('redis is available again');
  expect(answers.some((text) => text.startsWith('503'))).toBe(true);
  // Redis denied a command.
  expect(answers.some((text) => text.startsWith('503') && text.includes('redis-denied'))).toBe(true);
  await expectNoSecret();
});
