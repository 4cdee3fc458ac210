/** Webhooks as tasks: delivered, tried again, dead at once, and never in the log. */
import { randomBytes } from 'node:crypto';

import { expect, test } from '@jest/globals';
import type { WebhookTasks } from '@mortise/api/webhooks';
import { WEBHOOK_QUEUE } from '@mortise/api/webhooks';
import type { Task, TaskState } from '@mortise/queues';
import { Queue } from '@mortise/queues';
import { until } from '@mortise/test-kit';

import { Game } from '../fixture/game.js';
import type { RunningWorker } from '../fixture/game.js';
import { WebhookReceiver } from '../fixture/webhook-receiver.js';

const WEBHOOKS = {
  WORKER_QUEUES: 'webhook:5',
  WEBHOOK_SECRET: `whsec_${randomBytes(32).toString('base64')}`,
  WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
  WEBHOOK_ALLOW_HTTP: 'true',
};

class Webhooks {
  readonly #queue: Queue<WebhookTasks>;

  constructor({ redis, prefix }: Game) {
    this.#queue = new Queue<WebhookTasks>(redis, WEBHOOK_QUEUE, { prefix });
  }

  async post(url: string, data: unknown = {}): Promise<string> {
    const task = { url, type: 'sale.made', data };
    const { id } = await this.#queue.enqueue('webhook.deliver', task, {
      attempts: 3,
      backoff: { type: 'fixed', delayMs: 20 },
    });
    return id;
  }

  in(state: TaskState, id: string): Promise<Task<WebhookTasks>> {
    return until(`webhook ${id} to be ${state}`, async () => {
      const task = await this.#queue.get(id);
      return task?.state === state && task;
    });
  }
}

test('an event is posted once, and neither URL nor data is logged', async () => {
  await using receiver = await WebhookReceiver.start();
  await using game = new Game();
  const webhooks = new Webhooks(game);
  const worker = await game.startWorker(WEBHOOKS);
  const id = await webhooks.post(receiver.url('/hook?token=canary-1'), { name: 'canary-2' });
  await webhooks.in('succeeded', id);
  expect(receiver.received).toHaveLength(1);
  const { headers, body } = receiver.received[0]!;
  expect(headers['webhook-id']).toBe(id);
  expect(JSON.parse(body)).toEqual({ type: 'sale.made', data: { name: 'canary-2' } });
  expect(worker.lines).toContainEqual(
    expect.objectContaining({ msg: 'webhook delivered', task: id, status: 204, attempt: 1 }),
  );
  expect(JSON.stringify(worker.lines)).not.toContain('canary');
});

/** Without the address of the worker's own probes. */
function linesOf({ lines }: RunningWorker): RunningWorker['lines'] {
  return lines.filter(({ msg }) => msg !== 'health checks and metrics are answered');
}

test.each([408, 425, 429, 500, 503])('an answer of %d is tried again, with the same id', async (status) => {
  await using receiver = await WebhookReceiver.start();
  receiver.onRequest = (response, index) => response.writeHead(index === 0 ? status : 200).end();
  await using game = new Game();
  const webhooks = new Webhooks(game);
  await game.startWorker(WEBHOOKS);
  const id = await webhooks.post(receiver.url());
  expect(await webhooks.in('succeeded', id)).toMatchObject({ attempt: 2 });
  expect(receiver.received.map(({ headers }) => headers['webhook-id'])).toEqual([id, id]);
});

test.each([301, 400, 404, 410])('an answer of %d is final', async (status) => {
  await using receiver = await WebhookReceiver.start();
  receiver.onRequest = (response) => response.writeHead(status, { location: '/elsewhere' }).end();
  await using game = new Game();
  const webhooks = new Webhooks(game);
  await game.startWorker(WEBHOOKS);
  const dead = await webhooks.in('dead', await webhooks.post(receiver.url()));
  expect(dead).toMatchObject({ attempt: 1, error: { message: `the receiver answered ${status}` } });
  expect(receiver.received).toHaveLength(1);
});

test('a private address is never asked: dead after one attempt, without the address', async () => {
  await using receiver = await WebhookReceiver.start();
  await using game = new Game();
  const webhooks = new Webhooks(game);
  const worker = await game.startWorker({ ...WEBHOOKS, WEBHOOK_ALLOWED_NETWORKS: '' });
  const dead = await webhooks.in('dead', await webhooks.post(receiver.url()));
  expect(dead).toMatchObject({ attempt: 1, error: { message: 'the URL leads to a private network' } });
  expect(receiver.received).toEqual([]);
  expect(JSON.stringify([dead.error, linesOf(worker)])).not.toContain('127.0.0.1');
});

test('a receiver that is away: tried again, then dead, without the address', async () => {
  const receiver = await WebhookReceiver.start();
  const url = receiver.url();
  await receiver[Symbol.asyncDispose]();
  await using game = new Game();
  const webhooks = new Webhooks(game);
  const worker = await game.startWorker(WEBHOOKS);
  const dead = await webhooks.in('dead', await webhooks.post(url));
  expect(dead).toMatchObject({ attempt: 3, error: { message: 'no answer of the receiver: ECONNREFUSED' } });
  expect(JSON.stringify([dead.error, linesOf(worker)])).not.toContain('127.0.0.1');
});

test('a worker without the queue leaves webhooks alone', async () => {
  await using receiver = await WebhookReceiver.start();
  await using game = new Game();
  const webhooks = new Webhooks(game);
  await game.putPlayers();
  await game.startWorker({ WORKER_QUEUES: 'mail', MAIL_DIR: `/nonexistent/${game.prefix}` });
  const id = await webhooks.post(receiver.url());
  await until('the worker to run mails', async () => (await game.queue.get(await game.sell()))?.attempt);
  expect(await webhooks.in('ready', id)).toMatchObject({ attempt: 0 });
});
