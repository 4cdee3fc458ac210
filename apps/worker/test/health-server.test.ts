import { expect, test } from '@jest/globals';
import { startSingle } from '@mortise/redis-server';

import { Game, type RunningWorker } from './game.js';
import { until } from './until.js';

test('live and ready while Redis answers; live but not ready while it does not', async () => {
  const server = await startSingle();
  try {
    await using game = new Game({ REDIS_URL: server.url });
    const worker = await game.startWorker({ WORKER_PORT: '0' });
    const health = addressOf(worker);
    await until('the worker to be ready', async () => (await ask(`${health}/ready`)).status === 200);
    expect(await ask(`${health}/live`)).toEqual({ status: 200, body: { status: 'ok' } });

    server.pause();
    expect(await ask(`${health}/ready`)).toEqual({ status: 503, body: { status: 'redis is not reachable' } });
    // The answer came while Redis stood still.
    expect(await ask(`${health}/live`)).toMatchObject({ status: 200 });
    server.resume();
    await until('the worker to be ready again', async () => (await ask(`${health}/ready`)).status === 200);

    await server.kill();
    await until('the worker to notice', async () => (await ask(`${health}/ready`)).status === 503);
    await server.restart();
    await until('the worker to be back', async () => (await ask(`${health}/ready`)).status === 200);
  } finally {
    await server.stop();
  }
});

test('other paths and methods are refused', async () => {
  await using game = new Game();
  const worker = await game.startWorker({ WORKER_PORT: '0' });
  const health = addressOf(worker);
  expect(await ask(`${health}/`)).toMatchObject({ status: 404 });
  expect(await ask(`${health}/live`, 'POST')).toMatchObject({ status: 405 });
});

test('no port, no server', async () => {
  await using game = new Game();
  const worker = await game.startWorker();
  expect(worker.lines.filter(({ port }) => port !== undefined)).toEqual([]);
});

function addressOf({ lines }: RunningWorker): string {
  const { port } = lines.find(({ msg }) => msg === 'health checks are answered') as { port?: number };
  return `http://127.0.0.1:${port}/health`;
}

async function ask(url: string, method = 'GET'): Promise<{ status: number; body: unknown }> {
  const response = await fetch(url, { method });
  return { status: response.status, body: await response.json() };
}
