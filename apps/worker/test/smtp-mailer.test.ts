import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';

import { describe, expect, test } from '@jest/globals';
import * as fc from 'fast-check';

import { parseMailAddress } from '@mortise/api/market';
import { SmtpMailer } from '../src/mail/smtp-mailer.js';
import { parseMail, SENDER, soldMail, TASK_ID } from './mails.js';
import { SmtpPeer } from './smtp-peer.js';

const never = new AbortController().signal;

describe('send', () => {
  test('delivers one mail to one recipient, with the Message-ID of its task', async () => {
    await using peer = await SmtpPeer.start();
    using mailer = mailerFor(peer.url);
    await mailer.send(soldMail('Frank.Oz+market@Mail.Example.COM', TASK_ID), never);
    expect(peer.rcptTo).toEqual(['Frank.Oz+market@mail.example.com']);
    expect(peer.mails).toHaveLength(1);
    const [{ from, recipients, raw }] = peer.mails as [(typeof peer.mails)[number]];
    expect({ from, recipients }).toEqual({
      from: 'market@mortise.localhost',
      recipients: ['Frank.Oz+market@mail.example.com'],
    });
    const head = raw.toString('latin1').split('\r\n\r\n')[0]!.split('\r\n');
    expect(head).toEqual(
      expect.arrayContaining([
        'From: Fake Game <market@mortise.localhost>',
        'To: Frank.Oz+market@mail.example.com',
        'Subject: Sold: ItemM for 97 coins',
        `Message-ID: <${TASK_ID}@mortise.localhost>`,
        'Date: Fri, 20 Nov 2026 09:00:00 +0000',
        'Auto-Submitted: auto-generated',
      ]),
    );
    const mail = await parseMail(raw);
    expect(mail.subject).toBe('Sold: ItemM for 97 coins');
    expect(mail.messageId).toBe(`<${TASK_ID}@mortise.localhost>`);
    expect(mail.text).toContain('Bill bought your item ItemM for 97 coins.');
    expect(mail.html).toContain('<strong>ItemM</strong>');
    expect(mail.attachments).toEqual([]);
  });

  test('two sends of one task are the same bytes', async () => {
    await using peer = await SmtpPeer.start();
    using mailer = mailerFor(peer.url);
    await mailer.send(soldMail('frank@example.com', TASK_ID), never);
    await mailer.send(soldMail('frank@example.com', TASK_ID), never);
    expect(peer.mails).toHaveLength(2);
    expect(peer.mails[0]!.raw.equals(peer.mails[1]!.raw)).toBe(true);
  });

  test('a hostile task id stays inside the Message-ID', async () => {
    await using peer = await SmtpPeer.start();
    using mailer = mailerFor(peer.url);
    await mailer.send(soldMail('frank@example.com', 'x>\r\nBcc: evil@example.com\r\n\u{1f600}'), never);
    await mailer.send(soldMail('frank@example.com', 'y'.repeat(1_024)), never);
    const mails = await Promise.all(peer.mails.map(({ raw }) => parseMail(raw)));
    expect(mails.map(({ messageId }) => messageId)).toEqual([
      '<x%3E%0D%0ABcc%3A%20evil%40example%2Ecom%0D%0A%uD83D%uDE00@mortise.localhost>',
      expect.stringMatching(/^<sha256=[0-9a-f]{64}@mortise\.localhost>$/),
    ]);
    expect(mails.map(({ bcc }) => bcc)).toEqual([undefined, undefined]);
    expect(peer.rcptTo).toEqual(['frank@example.com', 'frank@example.com']);
  });

  test('every accepted address reaches the wire byte for byte, alone', async () => {
    await using peer = await SmtpPeer.start();
    using mailer = mailerFor(peer.url);
    const text = fc
      .tuple(
        fc.stringMatching(/^[A-Za-z0-9#$&'*+/=?^_`{|}~-]{1,20}(\.[A-Za-z0-9#$&'*+/=?^_`{|}~-]{1,20}){0,2}$/),
        fc.constantFrom(
          'example.com',
          'Mail.Example.COM',
          'xn--bcher-kva.example',
          'a-b--c.xn--p1ai',
          '1.2.x3',
        ),
      )
      .map((parts) => parts.join('@'))
      .filter((candidate) => candidate.indexOf('@') <= 64);
    await fc.assert(
      fc.asyncProperty(text, async (candidate) => {
        peer.wire = '';
        await mailer.send(soldMail(candidate), never);
        expect(peer.rcptTo).toEqual([parseMailAddress(candidate)]);
      }),
      { numRuns: 60 },
    );
    expect(peer.mails).toHaveLength(60);
  });

  test('attachments, files and URLs cannot come in by the content', async () => {
    await using peer = await SmtpPeer.start();
    using mailer = mailerFor(peer.url);
    const mail = { ...soldMail('frank@example.com'), text: { path: '/etc/hostname' } as never };
    await expect(mailer.send(mail, never)).rejects.toMatchObject({ code: 'ERR_MAIL_UNSENT' });
    expect(peer.mails).toEqual([]);
  });

  test('speaks TLS to smtps', async () => {
    await using peer = await SmtpPeer.start({ secure: true });
    const place = `smtps://127.0.0.1:${peer.port}`;
    {
      using strict = mailerFor(place);
      await expect(strict.send(soldMail('frank@example.com'), never)).rejects.toMatchObject({
        code: 'ERR_MAIL_UNSENT',
      });
    }
    using mailer = mailerFor(`${place}?tls.rejectUnauthorized=false`);
    await mailer.send(soldMail('frank@example.com'), never);
    expect(peer.mails).toHaveLength(1);
  });

  test('signs in with the user and password of the URL', async () => {
    const seen: unknown[] = [];
    await using peer = await SmtpPeer.start({
      authOptional: false,
      allowInsecureAuth: true,
      onAuth: ({ username, password }, _session, callback) => {
        seen.push([username, password]);
        callback(null, { user: username ?? '' });
      },
    });
    using mailer = mailerFor(peer.url.replace('//', '//game:p%40ss@'));
    await mailer.send(soldMail('frank@example.com'), never);
    expect(seen).toEqual([['game', 'p@ss']]);
  });
});

describe('refusals', () => {
  test.each([
    [550, 'RCPT TO', 'ERR_MAIL_REFUSED', 'the mail server refused the mail: 550 5.1.1 to RCPT TO'],
    [552, 'RCPT TO', 'ERR_MAIL_REFUSED', 'the mail server refused the mail: 552 5.1.1 to RCPT TO'],
    [451, 'RCPT TO', 'ERR_MAIL_UNSENT', 'the mail server answered 451 5.1.1 to RCPT TO'],
    [503, 'RCPT TO', 'ERR_MAIL_UNSENT', 'the mail server answered 503 5.1.1 to RCPT TO'],
    [554, 'DATA', 'ERR_MAIL_REFUSED', 'the mail server refused the mail: 554 5.1.1 to DATA'],
    [452, 'DATA', 'ERR_MAIL_UNSENT', 'the mail server answered 452 5.1.1 to DATA'],
    [550, 'MAIL FROM', 'ERR_MAIL_UNSENT', 'the mail server answered 550 5.1.1 to MAIL FROM'],
  ])('%i to %s is %s, without the address', async (code, command, expected, message) => {
    await using peer = await SmtpPeer.start();
    using mailer = mailerFor(peer.url);
    const verdict = { code, text: `5.1.1 <frank@example.com> no` };
    if (command === 'RCPT TO') peer.onRecipient = () => verdict;
    else if (command === 'DATA') peer.onData = () => verdict;
    else peer.onMailFrom = () => verdict;
    await expect(mailer.send(soldMail('frank@example.com'), never)).rejects.toMatchObject({
      code: expected,
      message,
    });
    expect(peer.mails).toEqual([]);
  });

  test('a wrong password is not the fault of the mail', async () => {
    await using peer = await SmtpPeer.start({
      authOptional: false,
      allowInsecureAuth: true,
      onAuth: (_auth, _session, callback) => callback(new Error('no')),
    });
    using mailer = mailerFor(peer.url.replace('//', '//game:wrong@'));
    await expect(mailer.send(soldMail('frank@example.com'), never)).rejects.toMatchObject({
      code: 'ERR_MAIL_UNSENT',
      message: expect.stringContaining('535'),
    });
  });

  test('a refused connection names host and port', async () => {
    const peer = await SmtpPeer.start();
    await peer.close();
    using mailer = mailerFor(peer.url);
    await expect(mailer.send(soldMail('frank@example.com'), never)).rejects.toMatchObject({
      code: 'ERR_MAIL_UNSENT',
      message: `no answer of the mail server: ESOCKET (connect ECONNREFUSED 127.0.0.1:${peer.port})`,
    });
  });

  test('a cut connection fails the attempt, without a retry in the mailer', async () => {
    let connections = 0;
    const server = createServer((socket) => {
      connections += 1;
      socket.destroy();
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    using mailer = mailerFor(`smtp://127.0.0.1:${(server.address() as AddressInfo).port}`);
    await expect(mailer.send(soldMail('frank@example.com'), never)).rejects.toMatchObject({
      code: 'ERR_MAIL_UNSENT',
    });
    expect(connections).toBe(1);
    server.close();
  });
});

describe('the signal', () => {
  test('an abort ends a hanging send at once, with its own reason', async () => {
    await using peer = await SmtpPeer.start();
    using mailer = mailerFor(peer.url);
    const controller = new AbortController();
    const reason = new Error('the worker is stopping');
    const reached = new Promise<void>((resolve) => {
      peer.onData = async () => {
        resolve();
        await once(controller.signal, 'abort');
        return { code: 451, text: 'gone' };
      };
    });
    const sending = mailer.send(soldMail('frank@example.com'), controller.signal);
    sending.catch(() => undefined);
    await reached;
    peer.onData = () => undefined;
    controller.abort(reason);
    // Not with what the peer says now: that would be another error.
    await expect(sending).rejects.toBe(reason);
    // Others are not concerned.
    await mailer.send(soldMail('frank@example.com'), never);
    expect(peer.mails).toHaveLength(1);
  });

  test('an aborted signal sends nothing', async () => {
    await using peer = await SmtpPeer.start();
    using mailer = mailerFor(peer.url);
    await expect(
      mailer.send(soldMail('frank@example.com'), AbortSignal.abort(new Error('no'))),
    ).rejects.toThrow('no');
    expect(peer.rcptTo).toEqual([]);
  });
});

test('close is idempotent, and a closed mailer sends nothing', async () => {
  await using peer = await SmtpPeer.start();
  const mailer = new SmtpMailer(peer.url, SENDER);
  mailer.close();
  mailer.close();
  await expect(mailer.send(soldMail('frank@example.com'), never)).rejects.toMatchObject({
    code: 'ERR_MAIL_UNSENT',
  });
  expect(peer.rcptTo).toEqual([]);
});

function mailerFor(url: string): SmtpMailer & Disposable {
  const mailer = new SmtpMailer(url, SENDER);
  return Object.assign(mailer, { [Symbol.dispose]: () => mailer.close() });
}
