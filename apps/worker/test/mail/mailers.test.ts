/** Mails as files and over SMTP, and what they say. */
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { parseMailAddress } from '@mortise/api/market';
import * as fc from 'fast-check';

import { EmlMailer } from '../../src/mail/eml-mailer.js';
import { line, markup } from '../../src/mail/escape.js';
import { SmtpMailer } from '../../src/mail/smtp-mailer.js';
import { taskName } from '../../src/mail/task-name.js';
import { expired, passwordReset, sold } from '../../src/mail/templates.js';
import { parseMail, SENDER, soldMail, TASK_ID } from '../fixture/mails.js';
import { SmtpPeer } from '../fixture/smtp-peer.js';

const never = new AbortController().signal;

describe('EmlMailer', () => {
  let parent: string;
  let directory: string;

  beforeEach(async () => {
    parent = await mkdtemp(join(tmpdir(), 'mortise-mail-'));
    directory = join(parent, 'deep', 'mail');
  });

  afterEach(() => rm(parent, { recursive: true }));

  test('writes a whole mail under the name of its task', async () => {
    await new EmlMailer(directory, SENDER).send(soldMail('frank@example.com', TASK_ID), never);
    expect(await readdir(directory)).toEqual([`${TASK_ID}.eml`]);
    const raw = await readFile(join(directory, `${TASK_ID}.eml`));
    expect(raw.toString('latin1')).toContain('\r\nTo: frank@example.com\r\n');
    expect(raw.toString('latin1')).not.toMatch(/[^\r]\n/);
    const mail = await parseMail(raw);
    expect(mail).toMatchObject({
      from: { name: 'Fake Game', address: 'market@mortise.localhost' },
      to: [{ name: '', address: 'frank@example.com' }],
      subject: 'Sold: ItemM for 97 coins',
      messageId: `<${TASK_ID}@mortise.localhost>`,
      date: '2026-11-20T09:00:00.000Z',
    });
    expect(mail.html).toContain('<strong>97 coins</strong>');
  });

  test('the same task again gives the same file', async () => {
    const mailer = new EmlMailer(directory, SENDER);
    const file = join(directory, `${TASK_ID}.eml`);
    await mailer.send(soldMail('frank@example.com', TASK_ID), never);
    const first = await readFile(file);
    await Promise.all(
      Array.from({ length: 20 }, () => mailer.send(soldMail('frank@example.com', TASK_ID), never)),
    );
    expect(await readdir(directory)).toEqual([`${TASK_ID}.eml`]);
    expect((await readFile(file)).equals(first)).toBe(true);
  });

  test('a reader never sees a part of a mail, nor none once there was one', async () => {
    const mailer = new EmlMailer(directory, SENDER);
    const file = join(directory, `${TASK_ID}.eml`);
    await mailer.send(soldMail('frank@example.com', TASK_ID), never);
    const whole = await readFile(file);
    const written = new AbortController();
    const writing = (async () => {
      for (let round = 0; round < 40; round += 1)
        await mailer.send(soldMail('frank@example.com', TASK_ID), never);
      written.abort();
    })();
    let reads = 0;
    while (!written.signal.aborted) {
      expect((await readFile(file)).equals(whole)).toBe(true);
      reads += 1;
    }
    await writing;
    expect(reads).toBeGreaterThan(10);
  });

  test('mails are readable by their owner only', async () => {
    await new EmlMailer(directory, SENDER).send(soldMail('frank@example.com', TASK_ID), never);
    expect((await stat(directory)).mode & 0o777).toBe(0o700);
    expect((await stat(join(directory, `${TASK_ID}.eml`))).mode & 0o777).toBe(0o600);
  });

  test('hostile task ids stay in the folder, each under its own name', async () => {
    const mailer = new EmlMailer(directory, SENDER);
    const ids = [
      '../../evil',
      '..',
      '.',
      'a/b',
      'a\\b',
      'a\nb',
      'a\0b',
      '-rf',
      '%2E',
      'é',
      'x'.repeat(1_000),
      'x'.repeat(1_001),
    ];
    for (const id of ids) await mailer.send(soldMail('frank@example.com', id), never);
    expect(await readdir(parent, { recursive: true })).toHaveLength(ids.length + 2);
    expect(await readdir(directory)).toHaveLength(ids.length);
  });

  test('a mail that cannot be put in its place leaves nothing behind', async () => {
    await mkdir(join(directory, `${TASK_ID}.eml`), { recursive: true });
    const sending = new EmlMailer(directory, SENDER).send(soldMail('frank@example.com', TASK_ID), never);
    await expect(sending).rejects.toMatchObject({ code: 'EISDIR' });
    expect(await readdir(directory)).toEqual([`${TASK_ID}.eml`]);
  });

  test('a folder that cannot be made fails the attempt', async () => {
    await writeFile(join(parent, 'deep'), 'a file');
    const sending = new EmlMailer(directory, SENDER).send(soldMail('frank@example.com', TASK_ID), never);
    await expect(sending).rejects.toMatchObject({ code: 'ENOTDIR' });
    expect(await readdir(parent)).toEqual(['deep']);
  });

  test('an aborted signal writes nothing', async () => {
    const sending = new EmlMailer(directory, SENDER).send(
      soldMail('frank@example.com'),
      AbortSignal.abort(new Error('no')),
    );
    await expect(sending).rejects.toThrow('no');
    expect(await readdir(parent)).toEqual([]);
  });
});

describe('SmtpMailer', () => {
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
          fc.stringMatching(
            /^[A-Za-z0-9#$&'*+/=?^_`{|}~-]{1,20}(\.[A-Za-z0-9#$&'*+/=?^_`{|}~-]{1,20}){0,2}$/,
          ),
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
});

describe('taskName', () => {
  test('a UUID is its own name', () => {
    expect(taskName('01936d8a-6a3e-7c3b-9a55-0123456789ab')).toBe('01936d8a-6a3e-7c3b-9a55-0123456789ab');
  });

  test.each([
    ['../../etc/passwd', '%2E%2E%2F%2E%2E%2Fetc%2Fpasswd'],
    ['a@b>\r\nBcc: x', 'a%40b%3E%0D%0ABcc%3A%20x'],
    ['%2E', '%252E'],
    ['\0', '%00'],
    ['é', '%E9'],
    ['\u{1f600}', '%uD83D%uDE00'],
    ['\u0100', '%u0100'],
    ['x'.repeat(200), 'x'.repeat(200)],
  ])('%j is named %s', (id, name) => {
    expect(taskName(id)).toBe(name);
  });

  test('names are dot-atom text of at most 200 bytes, and distinct ids have distinct names', () => {
    const id = fc.oneof(
      fc.string({ unit: 'binary', minLength: 1, maxLength: 300 }),
      fc.stringMatching(/^[%u0-9A-F.]{1,8}$/),
      fc.constantFrom('.', '..', '%', '%u', '\ud800', '\udfff', 'sha256='),
    );
    fc.assert(
      fc.property(id, id, (a, b) => {
        expect(taskName(a)).toMatch(/^(?:[A-Za-z0-9_%-]{1,200}|sha256=[0-9a-f]{64})$/);
        expect(taskName(a) === taskName(b)).toBe(a === b);
      }),
      { numRuns: 500 },
    );
  });
});

const FACTS = { saleId: 'sale-1', sellerName: 'Frank', buyerName: 'Bill', itemId: 'ItemM', price: 1_097 };

/** The names of the tags in the order in which they stand. */
const tags = (html: string): string[] => html.match(/<[^>]*>/g)!.map((tag) => tag.replace(/\s.*/, ''));

describe('sold', () => {
  test('says what was sold, to whom and for how much, in both forms', () => {
    expect(sold(FACTS)).toEqual({
      subject: 'Sold: ItemM for 1,097 coins',
      text: 'Hello Frank,\n\nBill bought your item ItemM for 1,097 coins.\nThe coins are yours already.\n\nSale sale-1\n',
      html: expect.stringContaining(
        '<p>Bill bought your item <strong>ItemM</strong> for <strong>1,097 coins</strong>.',
      ),
    });
  });

  test('one coin is one coin', () => {
    expect(sold({ ...FACTS, price: 1 }).subject).toBe('Sold: ItemM for 1 coin');
  });

  test('names and items are escaped in markup', () => {
    const evil = `<img src=x onerror="alert('&')">`;
    const content = sold({ ...FACTS, sellerName: evil, buyerName: evil, itemId: evil });
    expect(content.html).not.toContain('<img');
    expect(
      content.html.match(/&lt;img src=x onerror=&quot;alert\(&#39;&amp;&#39;\)&quot;&gt;/g),
    ).toHaveLength(4);
    expect(content.text).toContain(`${evil} bought your item ${evil}`);
  });

  test('no value breaks a line, turns text around or grows without bound', () => {
    const evil = 'ItemM\r\nBcc: evil@example.com\u2028\u202etxt\ud800';
    const content = sold({ ...FACTS, itemId: evil, sellerName: `a\n\n${'b'.repeat(10_000)}` });
    expect(content.subject).toBe('Sold: ItemM Bcc: evil@example.com txt\ufffd for 1,097 coins');
    expect(content.text.split('\n')).toHaveLength(7);
    expect(content.text).not.toMatch(/[\u2028\u202e]/);
    expect(content.text).toContain('b…,');
    expect(content.html.length).toBeLessThan(2_000);
  });

  test('the subject is one line and the markup has the same tags for all values', () => {
    const expected = tags(sold(FACTS).html);
    const value = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.constantFrom('</p><script>', '&lt;', '\'"><b>', '\r\n', '\0', '${1}'),
    );
    fc.assert(
      fc.property(value, value, value, (sellerName, buyerName, itemId) => {
        const content = sold({ ...FACTS, sellerName, buyerName, itemId });
        expect(content.subject).not.toMatch(/[\p{Cc}\u2028\u2029]/u);
        expect(content.text.split(/\r?\n|\r/)).toHaveLength(7);
        expect(content.html.isWellFormed()).toBe(true);
        expect(tags(content.html)).toEqual(expected);
      }),
    );
  });
});

describe('expired and passwordReset', () => {
  test('say what has happened, in both forms', () => {
    expect(expired({ sellerName: 'Frank', itemId: 'ItemM', price: 1 })).toEqual({
      subject: 'Not sold: ItemM',
      text: 'Hello Frank,\n\nnobody bought your item ItemM for 1 coin in time.\nIt is in your inventory again.\n',
      html: expect.stringContaining('<strong>ItemM</strong> for <strong>1 coin</strong>'),
    });
    expect(passwordReset({ requestId: 'r-1', playerName: 'Frank' })).toEqual({
      subject: 'Choose a new password',
      text: expect.stringMatching(/^Hello Frank,\n[^]*\nRequest r-1\n$/),
      html: expect.stringContaining('<small>Request r-1</small>'),
    });
  });

  test('the subject is one line and the markup has the same tags for all values', () => {
    const value = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.constantFrom('</p><script>', '\r\nBcc: x', '\0'),
    );
    const texts = [
      (one: string, other: string) => expired({ sellerName: one, itemId: other, price: 5 }),
      (one: string, other: string) => passwordReset({ requestId: one, playerName: other }),
    ];
    for (const write of texts) {
      const plain = write('a', 'b');
      fc.assert(
        fc.property(value, value, (one, other) => {
          const content = write(one, other);
          expect(content.subject).not.toMatch(/[\p{Cc}\u2028\u2029]/u);
          expect(content.text.split(/\r?\n|\r/)).toHaveLength(plain.text.split('\n').length);
          expect(tags(content.html)).toEqual(tags(plain.html));
        }),
      );
    }
  });
});

describe('line and markup', () => {
  test('markup inserts markup unchanged, and escapes text', () => {
    expect(markup`<p>${markup`<b>${'<&>'}</b>`}${'<b>'}</p>`.html).toBe(
      '<p><b>&lt;&amp;&gt;</b>&lt;b&gt;</p>',
    );
  });

  test('a quoted attribute cannot be left', () => {
    expect(markup`<a title="${'" onclick="x'}">`.html).toBe('<a title="&quot; onclick=&quot;x">');
  });

  test('the cut of a long value leaves no half character', () => {
    const cut = line`${'\u{1f600}'.repeat(100)}`;
    expect(cut.isWellFormed()).toBe(true);
    expect(cut).toMatch(/…$/);
    expect(line`${'a'.repeat(128)}`).toBe('a'.repeat(128));
    expect(line`${'a'.repeat(129)}`).toBe(`${'a'.repeat(127)}…`);
  });
});
