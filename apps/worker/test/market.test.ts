/** Listings that open and expire by themselves, with the mails that this causes. */
import { expect, test } from '@jest/globals';
import { expiredMailId, type Listing, MARKET_QUEUE, type MarketTasks, tasksOf } from '@mortise/api/market';
import { Queue } from '@mortise/queues';

import { Game } from './game.js';
import { parseMail } from './mails.js';
import { SmtpPeer } from './smtp-peer.js';
import { until } from './until.js';

/** A game in which Frank has an item, and what the API does with a listing that has instants. */
async function newGame() {
  const game = new Game();
  await game.putPlayers();
  await game.market.giveItem('frank', 'sword');
  const queue = new Queue<MarketTasks>(game.redis, MARKET_QUEUE, { prefix: game.prefix });
  const offer = async (terms: { opensAt?: number; expiresInMs?: number }): Promise<Listing> => {
    const given = { id: 'offer', sellerId: 'frank', itemId: 'sword', price: 97 };
    const { value } = await game.market.list({ ...given, ...terms });
    return value;
  };
  const enqueue = async (listing: Listing): Promise<string[]> => {
    const tasks = tasksOf(listing).map(({ name, payload, id, runAt }) => ({
      name,
      payload,
      options: { id, runAt },
    }));
    return (await queue.enqueueMany(tasks)).map(({ id }) => id);
  };
  return { game, queue, offer, enqueue };
}

const refOf = ({ id, listedAt }: Listing) => ({ listingId: id, listedAt });

test('a delayed sale opens at its time', async () => {
  const { game, queue, offer, enqueue } = await newGame();
  await using _ = game;
  const listing = await offer({ opensAt: Date.now() + 500 });
  const [id] = await enqueue(listing);
  const worker = await game.startWorker();
  expect((await game.market.listings()).items).toEqual([]);
  await until('the sale to open', async () => (await game.market.listings()).items.length === 1);
  await until('the task to end', async () => (await queue.get(id!))?.state === 'succeeded');
  expect(worker.lines).toContainEqual(
    expect.objectContaining({ msg: 'listing opened', task: id, listing: 'offer' }),
  );
});

test('an unsold item returns to its seller, who gets one mail', async () => {
  await using peer = await SmtpPeer.start();
  const { game, offer, enqueue } = await newGame();
  await using _ = game;
  const listing = await offer({ expiresInMs: 1_000 });
  await enqueue(listing);
  const worker = await game.startWorker({ SMTP_URL: peer.url });
  const mailId = expiredMailId(refOf(listing));
  expect(await game.taskIn('succeeded', mailId)).toMatchObject({ name: 'mail.expired', priority: 'low' });
  expect((await game.market.itemsOf('frank')).items).toEqual(['sword']);
  expect(peer.rcptTo).toEqual(['frank@example.com']);
  expect(await parseMail(peer.mails[0]!.raw)).toMatchObject({
    subject: 'Not sold: sword',
    messageId: `<expired%3Aoffer%3A${listing.listedAt}@mortise.localhost>`,
    text: expect.stringContaining('nobody bought your item sword for 97 coins in time'),
  });
  expect(worker.lines).toContainEqual(expect.objectContaining({ msg: 'listing expired', listing: 'offer' }));
  expect(worker.lines).toContainEqual(expect.objectContaining({ msg: 'mail sent', mail: 'mail.expired' }));
});

test.each([
  ['after it has taken the item back', false],
  ['after it has enqueued the mail', true],
])('a worker that died %s has lost no mail and sent none twice', async (_what, isMailed) => {
  await using peer = await SmtpPeer.start();
  const { game, queue, offer } = await newGame();
  await using _ = game;
  const listing = await offer({ expiresInMs: 1_000 });
  const ref = refOf(listing);
  await until('its time', async () => (await game.market.timed.expire(ref)).status === 'done');
  const mailId = expiredMailId(ref);
  if (isMailed) {
    const payload = { sellerId: 'frank', itemId: 'sword', price: 97 };
    await game.queue.enqueue('mail.expired', payload, { id: mailId, priority: 'low' });
  }
  // As the next worker gets it after the lease.
  const { id } = await queue.enqueue('market.expire', ref);
  await game.startWorker({ SMTP_URL: peer.url });
  await game.taskIn('succeeded', mailId);
  await until('the task to end', async () => (await queue.get(id))?.state === 'succeeded');
  expect(await game.market.timed.expire(ref)).toEqual({ status: 'gone' });
  expect((await game.queue.counts()).succeeded).toBe(1);
  expect(peer.mails).toHaveLength(1);
});

test('a listing that was sold does not expire', async () => {
  const { game, queue, offer } = await newGame();
  await using _ = game;
  await game.market.putPlayer('rich', { name: 'Rich', email: 'rich@example.com', funds: 1_000 });
  const listing = await offer({ expiresInMs: 3_600_000 });
  await game.market.purchase({ listingId: 'offer', buyerId: 'rich', expectedPrice: 97 });
  const worker = await game.startWorker();
  const { id } = await queue.enqueue('market.expire', refOf(listing));
  await until('the task to end', async () => (await queue.get(id))?.state === 'succeeded');
  expect((await game.market.itemsOf('rich')).items).toEqual(['sword']);
  expect(await game.queue.get(expiredMailId(refOf(listing)))).toBeNull();
  expect(worker.lines).toContainEqual(expect.objectContaining({ msg: 'listing was gone', task: id }));
});

test('a task that comes too early waits for the instant in the market', async () => {
  const { game, queue, offer } = await newGame();
  await using _ = game;
  const listing = await offer({ opensAt: Date.now() + 600, expiresInMs: 3_600_000 });
  const ref = refOf(listing);
  const ids = [await queue.enqueue('market.open', ref), await queue.enqueue('market.expire', ref)];
  await game.startWorker();
  await until('the sale to open', async () => (await game.market.listings()).items.length === 1);
  const [open, expire] = ids.map(({ id }) => id);
  await until('the task to end', async () => (await queue.get(open!))?.state === 'succeeded');
  expect((await queue.get(open!))!.attempt).toBe(1);
  const waiting = await queue.get(expire!);
  expect(waiting).toMatchObject({ state: 'retrying', attempt: 0 });
  expect(Math.abs(waiting!.runAt! - listing.expiresAt!)).toBeLessThan(60_000);
});

test('an invalid payload is dead at once', async () => {
  const { game, queue } = await newGame();
  await using _ = game;
  await game.startWorker();
  const { id } = await queue.enqueue('market.open', { listingId: '}x', listedAt: '5' } as never);
  await until('the task to die', async () => (await queue.get(id))?.state === 'dead');
  expect((await queue.get(id))!.error).toContain('the payload is not that of a listing');
});
