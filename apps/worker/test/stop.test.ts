import { EventEmitter, once } from 'node:events';

import { expect, test } from '@jest/globals';

import { Game } from './game.js';
import { SmtpPeer } from './smtp-peer.js';

test('a running mail is finished before the worker ends', async () => {
  await using peer = await SmtpPeer.start();
  const held = holdData(peer);
  await using game = new Game();
  await game.putPlayers();
  const worker = await game.startWorker({ SMTP_URL: peer.url, WORKER_CONCURRENCY: '1' });
  const [first, second] = [await game.sell(), await game.sell()];
  await held.reached;
  const closing = worker.close();
  held.release();
  await closing;
  expect(await game.queue.get(first)).toMatchObject({ state: 'succeeded' });
  expect(await game.queue.get(second)).toMatchObject({ state: 'ready' });
  expect(peer.mails).toHaveLength(1);
});

test('an unfinished mail goes back at once, and the attempt does not count', async () => {
  await using peer = await SmtpPeer.start();
  const held = holdData(peer);
  await using game = new Game();
  await game.putPlayers();
  const worker = await game.startWorker({
    SMTP_URL: peer.url,
    WORKER_LEASE_MS: '3600000',
    WORKER_SHUTDOWN_TIMEOUT_MS: '50',
  });
  const id = await game.sell();
  await held.reached;
  const startedAt = performance.now();
  await worker.close();
  // Less than the time that it has by default.
  expect(performance.now() - startedAt).toBeLessThan(9_000);
  const task = await game.queue.get(id);
  expect(task?.state).not.toBe('active');
  expect(task).toMatchObject({ attempt: 0 });
  expect(worker.lines).toContainEqual(expect.objectContaining({ msg: 'mail abandoned', task: id }));

  held.release();
  await game.startWorker({ SMTP_URL: peer.url });
  // Not after the lease of an hour.
  expect(await game.taskIn('succeeded', id)).toMatchObject({ attempt: 1 });
});

test('an idle worker ends at once', async () => {
  await using game = new Game();
  const worker = await game.startWorker({ WORKER_SHUTDOWN_TIMEOUT_MS: '3600000' });
  const startedAt = performance.now();
  await worker.close();
  // Rather than after the time that unfinished mails have.
  expect(performance.now() - startedAt).toBeLessThan(30_000);
});

/** Lets the peer wait with its answer to the first mail until `release`; later ones are taken at once. */
function holdData(peer: SmtpPeer): { reached: Promise<unknown>; release: () => void } {
  const events = new EventEmitter();
  const reached = once(events, 'reached');
  const released = once(events, 'released');
  peer.onData = async () => {
    peer.onData = () => undefined;
    events.emit('reached');
    await released;
    return undefined;
  };
  return { reached, release: () => void events.emit('released') };
}
