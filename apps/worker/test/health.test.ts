/** The health checks of the worker. */
import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { startSingle } from '@mortise/redis-server';
import { until } from '@mortise/test-kit';
import { Redis } from 'ioredis';

import { Game, type RunningWorker } from './fixture/game.js';
import { SmtpPeer } from './fixture/smtp-peer.js';

type Send = (this: Redis, ...args: Parameters<Redis['sendCommand']>) => unknown;

interface Answer {
  readonly status: number;
  readonly body: unknown;
}

const OK: Answer = { status: 200, body: { status: 'ok' } };

function portOf({ lines }: RunningWorker): number {
  const { port } = lines.find(({ msg }) => msg === 'health checks and metrics are answered') as unknown as {
    port: number;
  };
  return port;
}

async function ask(worker: RunningWorker, probe: string, method = 'GET'): Promise<Answer> {
  const response = await fetch(`http://127.0.0.1:${portOf(worker)}/health/${probe}`, { method });
  return { status: response.status, body: await response.json() };
}

/** Resolves when the probe has this status. */
function answered(worker: RunningWorker, probe: string, status: number): Promise<Answer> {
  return until(`${probe} to be ${status}`, async () => {
    const answer = await ask(worker, probe);
    return answer.status === status && answer;
  });
}

test('live and ready while Redis answers; live but not ready while it does not', async () => {
  const server = await startSingle();
  try {
    await using game = new Game({ REDIS_URL: server.url });
    const worker = await game.startWorker({ WORKER_PORT: '0' });
    await answered(worker, 'ready', 200);
    expect(await ask(worker, 'live')).toEqual(OK);

    server.pause();
    expect(await ask(worker, 'ready')).toEqual({ status: 503, body: { status: 'redis is not reachable' } });
    // The answer came while Redis stood still.
    expect(await ask(worker, 'live')).toEqual(OK);
    server.resume();
    await answered(worker, 'ready', 200);

    await server.kill();
    await answered(worker, 'ready', 503);
    await server.restart();
    await answered(worker, 'ready', 200);
  } finally {
    await server.stop();
  }
});

test('other paths and methods are refused', async () => {
  await using game = new Game();
  const worker = await game.startWorker({ WORKER_PORT: '0' });
  expect(await ask(worker, '')).toMatchObject({ status: 404 });
  expect(await ask(worker, 'live', 'POST')).toMatchObject({ status: 405 });
});

test('without a port, each worker of a machine has one of its own', async () => {
  await using game = new Game();
  const [one, other] = [await game.startWorker(), await game.startWorker()];
  expect(portOf(one)).not.toBe(portOf(other));
  expect([await ask(one, 'live'), await ask(other, 'live')]).toEqual([OK, OK]);
});

describe('after a minute', () => {
  const MINUTE_MS = 60_000;
  const now = performance.now.bind(performance);
  let passedMs = 0;

  beforeEach(() => {
    passedMs = 0;
    jest.spyOn(performance, 'now').mockImplementation(() => now() + passedMs);
  });
  afterEach(() => {
    jest.restoreAllMocks();
  });

  test('a worker whose queues get no answer is not live, though Redis answers others', async () => {
    await using game = new Game();
    const worker = await game.startWorker({ WORKER_PORT: '0' });
    await answered(worker, 'ready', 200);
    let lost = 0;
    const { sendCommand: send } = Redis.prototype as { readonly sendCommand: Send };
    const scripts = jest.spyOn(Redis.prototype, 'sendCommand');
    scripts.mockImplementation(function (this: Redis, command, ...rest) {
      if (this === game.redis || command.name !== 'evalsha') return send.call(this, command, ...rest);
      lost += 1;
      return new Promise(() => undefined);
    });
    await game.sell();
    await until('a call to be lost', () => lost > 0);
    expect(await ask(worker, 'live')).toEqual(OK);
    passedMs = MINUTE_MS;
    expect(await answered(worker, 'live', 503)).toEqual({
      status: 503,
      body: { status: 'fetches no tasks' },
    });
    expect(await ask(worker, 'ready')).toEqual(OK);
    expect(worker.lines).toContainEqual(
      expect.objectContaining({ level: 50, msg: 'not alive', reason: 'fetches no tasks' }),
    );
    scripts.mockRestore();
  });

  test('without Redis, a worker is live', async () => {
    const server = await startSingle();
    try {
      await using game = new Game({ REDIS_URL: server.url });
      const worker = await game.startWorker({ WORKER_PORT: '0' });
      await answered(worker, 'ready', 200);
      server.pause();
      await answered(worker, 'ready', 503);
      passedMs = MINUTE_MS;
      expect(await ask(worker, 'live')).toEqual(OK);
      server.resume();
      await answered(worker, 'ready', 200);
      // The timers of the queues know nothing of the minute.
      await answered(worker, 'live', 200);
    } finally {
      await server.stop();
    }
  });

  test('an idle worker is live, also with a paused queue and with a full one', async () => {
    await using peer = await SmtpPeer.start();
    let hanging = 0;
    peer.onData = () => {
      hanging += 1;
      return new Promise(() => undefined);
    };
    await using game = new Game();
    await game.putPlayers();
    await game.queue.configure({ concurrency: 1 });
    const worker = await game.startWorker({
      WORKER_PORT: '0',
      WORKER_LEASE_MS: '3600000',
      SMTP_URL: peer.url,
      WORKER_SHUTDOWN_TIMEOUT_MS: '0',
    });
    await answered(worker, 'ready', 200);
    // The limit of the queue is reached, and slots are free.
    await game.sell();
    await until('the mail to hang', () => hanging === 1);
    passedMs += MINUTE_MS;
    await answered(worker, 'live', 200);
    await game.queue.pause();
    passedMs += MINUTE_MS;
    await answered(worker, 'live', 200);

    const full = await game.startWorker({
      WORKER_PORT: '0',
      WORKER_QUEUES: 'mail:1',
      WORKER_LEASE_MS: '3600000',
      SMTP_URL: peer.url,
      WORKER_SHUTDOWN_TIMEOUT_MS: '0',
    });
    await game.queue.configure({ concurrency: null });
    await game.queue.resume();
    for (let n = 0; n < 60; n += 1) await game.sell();
    await until('all slots to have a mail', async () => (await game.queue.counts()).active === 51);
    passedMs += MINUTE_MS;
    expect(await ask(full, 'live')).toEqual(OK);
  });
});
