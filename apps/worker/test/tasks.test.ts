/** The tasks of the worker: mails and their order, a stop while they run, and listings that open and expire by themselves. */
import { EventEmitter, once } from 'node:events';

import { expect, test } from '@jest/globals';
import { expiredMailId, type Listing, MARKET_QUEUE, type MarketTasks, tasksOf } from '@mortise/api/market';
import { Discard, Queue, type TaskContext } from '@mortise/queues';
import { until } from '@mortise/test-kit';
import { pino } from 'pino';

import { MailDelivery } from '../src/mail/mail-delivery.js';
import { MailHandlers } from '../src/mail/mail-handlers.js';
import { SmtpMailer } from '../src/mail/smtp-mailer.js';
import { Game } from './fixture/game.js';
import { parseMail, SENDER } from './fixture/mails.js';
import { SmtpPeer } from './fixture/smtp-peer.js';

test('a sale becomes one mail to the seller, and one line in the log', async () => {
  await using peer = await SmtpPeer.start();
  await using game = new Game();
  await game.putPlayers('Frank.Oz@example.com');
  const worker = await game.startWorker({ SMTP_URL: peer.url });
  const id = await game.sell();
  await game.taskIn('succeeded', id);
  expect(peer.rcptTo).toEqual(['Frank.Oz@example.com']);
  expect(await parseMail(peer.mails[0]!.raw)).toMatchObject({
    to: [{ address: 'Frank.Oz@example.com' }],
    subject: 'Sold: ItemM for 97 coins',
    messageId: `<${id}@mortise.localhost>`,
    text: expect.stringContaining('Hello Frank,'),
  });
  expect(worker.lines.filter(({ task }) => task === id)).toEqual([
    expect.objectContaining({
      level: 30,
      msg: 'mail sent',
      attempt: 1,
      player: 'frank',
      ms: expect.any(Number),
    }),
  ]);
  const log = JSON.stringify(worker.lines);
  expect(log).not.toContain('@example.com');
  expect(log).not.toContain('Hello');
});

test('many sales are one mail each', async () => {
  await using peer = await SmtpPeer.start();
  await using game = new Game();
  await game.putPlayers();
  const ids = await Promise.all(
    Array.from({ length: 100 }, (_, index) => game.sell({ itemId: `Item${index}` })),
  );
  await game.startWorker({ SMTP_URL: peer.url });
  await until('all to succeed', async () => (await game.queue.counts()).succeeded === 100);
  const mails = await Promise.all(peer.mails.map(({ raw }) => parseMail(raw)));
  expect(mails).toHaveLength(100);
  expect(new Set(mails.map(({ messageId }) => messageId))).toEqual(
    new Set(ids.map((id) => `<${id}@mortise.localhost>`)),
  );
});

test('550 to the recipient: dead after one attempt, with the reason but without the address', async () => {
  await using peer = await SmtpPeer.start();
  peer.onRecipient = () => ({ code: 550, text: '5.1.1 <frank@example.com> unknown' });
  await using game = new Game();
  await game.putPlayers();
  const worker = await game.startWorker({ SMTP_URL: peer.url });
  const id = await game.sell();
  const task = await game.taskIn('dead', id);
  expect(task.attempt).toBe(1);
  expect(task.error!.message).toContain('the mail server refused the mail: 550 5.1.1 to RCPT TO');
  expect(JSON.stringify(task.error)).not.toContain('frank@');
  expect(worker.lines).toContainEqual(
    expect.objectContaining({ msg: 'mail discarded', task: id, level: 50 }),
  );
  expect(peer.mails).toEqual([]);
});

test('451 to the recipient: tried again, then delivered', async () => {
  await using peer = await SmtpPeer.start();
  const verdicts = [
    { code: 451, text: '4.7.1 try later' },
    { code: 451, text: '4.7.1 try later' },
  ];
  peer.onRecipient = () => verdicts.shift();
  await using game = new Game();
  await game.putPlayers();
  const worker = await game.startWorker({ SMTP_URL: peer.url });
  const id = await game.sell();
  expect(await game.taskIn('succeeded', id)).toMatchObject({ attempt: 3 });
  expect(peer.rcptTo).toHaveLength(3);
  expect(peer.mails).toHaveLength(1);
  expect(worker.lines.filter(({ task }) => task === id).map(({ msg, attempt }) => [msg, attempt])).toEqual([
    ['mail failed', 1],
    ['mail failed', 2],
    ['mail sent', 3],
  ]);
});

test('a server that never takes it: dead after the last attempt', async () => {
  await using peer = await SmtpPeer.start();
  peer.onData = () => ({ code: 452, text: '4.3.1 full' });
  await using game = new Game();
  await game.putPlayers();
  const worker = await game.startWorker({ SMTP_URL: peer.url });
  const id = await game.sell({}, { attempts: 3 });
  expect(await game.taskIn('dead', id)).toMatchObject({
    attempt: 3,
    error: { message: expect.stringContaining('452 4.3.1') },
  });
  expect(worker.lines.filter(({ task }) => task === id).map(({ level }) => level)).toEqual([40, 40, 50]);
});

test('no server: tried again, and delivered when it is there', async () => {
  const gone = await SmtpPeer.start();
  await gone.close();
  await using game = new Game();
  await game.putPlayers();
  const worker = await game.startWorker({ SMTP_URL: gone.url });
  const id = await game.sell({}, { attempts: 1_000 });
  await until('an attempt to fail', () => worker.lines.some(({ msg }) => msg === 'mail failed'));
  expect(worker.lines).toContainEqual(
    expect.objectContaining({ code: 'ERR_MAIL_UNSENT', reason: expect.stringContaining('ECONNREFUSED') }),
  );
  await using peer = await SmtpPeer.start({}, gone.port);
  expect((await game.taskIn('succeeded', id)).attempt).toBeGreaterThan(1);
  expect(peer.mails).toHaveLength(1);
});

test.each([
  ['an unknown seller', { sellerId: 'nobody' }, 'the seller is unknown'],
  ['an impossible seller', { sellerId: '}x\r\n' }, 'the payload is not that of a sale'],
  ['no price', { price: '97' }, 'the payload is not that of a sale'],
])('%s: dead at once', async (_, sale, reason) => {
  await using peer = await SmtpPeer.start();
  await using game = new Game();
  await game.putPlayers();
  await game.startWorker({ SMTP_URL: peer.url });
  const id = await game.sell(sale as never);
  expect(await game.taskIn('dead', id)).toMatchObject({
    attempt: 1,
    error: { message: expect.stringContaining(reason) },
  });
  expect(peer.wire).toBe('');
});

test('an unknown buyer goes by the id', async () => {
  await using peer = await SmtpPeer.start();
  await using game = new Game();
  await game.putPlayers();
  await game.startWorker({ SMTP_URL: peer.url });
  const id = await game.sell({ buyerId: 'stranger' });
  await game.taskIn('succeeded', id);
  expect((await parseMail(peer.mails[0]!.raw)).text).toContain('stranger bought your item');
});

test('hostile names and items stay text', async () => {
  await using peer = await SmtpPeer.start();
  await using game = new Game();
  await game.market.putPlayer('frank', { name: '<script>alert(1)</script>', email: 'frank@example.com' });
  await game.startWorker({ SMTP_URL: peer.url });
  const id = await game.sell({ itemId: 'X\r\nBcc: evil@example.com\r\n\r\n.\r\nRCPT TO:<evil@example.com>' });
  await game.taskIn('succeeded', id);
  const mail = await parseMail(peer.mails[0]!.raw);
  expect(mail.subject).toBe('Sold: X Bcc: evil@example.com . RCPT TO:<evil@example.com> for 97 coins');
  expect(mail.html).not.toContain('<script>');
  expect(mail.bcc).toBeUndefined();
  expect(peer.rcptTo).toEqual(['frank@example.com']);
});

test('hostile addresses never reach the wire', async () => {
  await using peer = await SmtpPeer.start();
  const mailer = new SmtpMailer(peer.url, SENDER);
  const hostile = [
    'ok@example.com\r\nRCPT TO:<evil@example.com>',
    'ok@example.com>\r\nRCPT TO:<evil@example.com',
    'ok@example.com\nevil@example.com',
    'ok@example.com, evil@example.com',
    'ok@example.com,evil@example.com',
    'group: ok@example.com, evil@example.com;',
    'Frank <evil@example.com>',
    '"evil@example.com" <ok@example.com>',
    'ok@example.com (evil@example.com)',
    'evil%example.com@ok.example',
    'a@b@example.com',
    'ok@[127.0.0.1]',
    'ok@127.0.0.1',
    'root',
    '',
    'ok@ｅxample.com',
    `${'a'.repeat(300)}@example.com`,
  ];
  for (const email of hostile) {
    const player = { id: 'frank', name: 'Frank', email, funds: 0 };
    const market = { player: async () => player };
    const handlers = new MailHandlers(market, new MailDelivery(market, mailer, pino({ level: 'silent' })));
    const { signal } = new AbortController();
    const task = { id: '1', attempt: 1, attempts: 5, headers: {}, signal } as unknown as TaskContext;
    const handling = handlers.sold({ sellerId: 'frank', itemId: 'ItemM', price: 97, buyerId: 'bill' }, task);
    await expect(handling).rejects.toThrow(Discard);
    await expect(handling).rejects.toThrow(/^not a mail address: /);
  }
  expect(peer.wire).toBe('');
  mailer.close();
});

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
  expect(await game.taskIn('dead', id)).toMatchObject({
    attempt: 1,
    error: { message: expect.stringContaining(reason) },
  });
  expect(worker.lines).toContainEqual(expect.objectContaining({ msg: 'mail discarded', mail: name, reason }));
  expect(peer.wire).toBe('');
});

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

test('an unsold item returns to its seller, and one mail tells the seller', async () => {
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
  expect((await queue.get(id))!.error!.message).toContain('the payload is not that of a listing');
});
