import { expect, test } from '@jest/globals';
import { Discard, type TaskContext } from '@mortise/queues';
import { pino } from 'pino';

import { MailDelivery } from '../src/mail/mail-delivery.js';
import { MailHandlers } from '../src/mail/mail-handlers.js';
import { SmtpMailer } from '../src/mail/smtp-mailer.js';
import { Game } from './game.js';
import { parseMail, SENDER } from './mails.js';
import { SmtpPeer } from './smtp-peer.js';
import { until } from './until.js';

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
  expect(task.error).toContain('the mail server refused the mail: 550 5.1.1 to RCPT TO');
  expect(task.error).not.toContain('frank@');
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
    error: expect.stringContaining('452 4.3.1'),
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
  expect(await game.taskIn('dead', id)).toMatchObject({ attempt: 1, error: expect.stringContaining(reason) });
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
    const task = { id: '1', attempt: 1, attempts: 5, signal: new AbortController().signal } as TaskContext;
    const handling = handlers.sold({ sellerId: 'frank', itemId: 'ItemM', price: 97, buyerId: 'bill' }, task);
    await expect(handling).rejects.toThrow(Discard);
    await expect(handling).rejects.toThrow(/^not a mail address: /);
  }
  expect(peer.wire).toBe('');
  mailer.close();
});
