import { expect, test } from '@jest/globals';

import { Game } from './game.js';
import { parseMail } from './mails.js';
import { SmtpPeer } from './smtp-peer.js';
import { until } from './until.js';

test('password resets come before sales, and sales before expired listings', async () => {
  await using peer = await SmtpPeer.start();
  await using game = new Game();
  await game.putPlayers();
  const listing = { sellerId: 'frank', itemId: 'bow', price: 5 };
  const send = {
    expired: () => game.queue.enqueue('mail.expired', listing, { priority: 'low' }),
    sold: () => game.sell(),
    reset: () => game.queue.enqueue('mail.password-reset', { playerId: 'frank' }, { priority: 'high' }),
  };
  for (const name of ['expired', 'sold', 'reset', 'expired', 'reset', 'sold'] as const) await send[name]();
  const worker = await game.startWorker({ SMTP_URL: peer.url, WORKER_CONCURRENCY: '1' });
  await until('all to be sent', async () => (await game.queue.counts()).succeeded === 6);
  const mails = await Promise.all(peer.mails.map(({ raw }) => parseMail(raw)));
  expect(mails.map(({ subject }) => subject)).toEqual([
    'Choose a new password',
    'Choose a new password',
    'Sold: ItemM for 97 coins',
    'Sold: ItemM for 97 coins',
    'Not sold: bow',
    'Not sold: bow',
  ]);
  expect(new Set(mails.map(({ messageId }) => messageId)).size).toBe(6);
  expect(
    worker.lines.filter(({ msg }) => msg === 'mail sent').map(({ mail, player }) => [mail, player]),
  ).toEqual(
    ['mail.password-reset', 'mail.sold', 'mail.expired'].flatMap((name) => [
      [name, 'frank'],
      [name, 'frank'],
    ]),
  );
});

test.each([
  ['mail.password-reset', { playerId: '}x\r\n' }, 'the payload is not that of a password reset'],
  ['mail.password-reset', { playerId: 'nobody' }, 'the player is unknown'],
  ['mail.expired', { sellerId: 'frank', itemId: '', price: 1 }, 'the payload is not that of a listing'],
  ['mail.expired', { sellerId: 'nobody', itemId: 'x', price: 1 }, 'the seller is unknown'],
] as const)('%s of %j: dead at once, and said so', async (name, payload, reason) => {
  await using peer = await SmtpPeer.start();
  await using game = new Game();
  await game.putPlayers();
  const worker = await game.startWorker({ SMTP_URL: peer.url });
  const { id } = await game.queue.enqueue(name, payload);
  expect(await game.taskIn('dead', id)).toMatchObject({ attempt: 1, error: expect.stringContaining(reason) });
  expect(worker.lines).toContainEqual(expect.objectContaining({ msg: 'mail discarded', mail: name, reason }));
  expect(peer.wire).toBe('');
});
