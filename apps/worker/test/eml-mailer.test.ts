import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, beforeEach, expect, test } from '@jest/globals';

import { EmlMailer } from '../src/mail/eml-mailer.js';
import { parseMail, SENDER, soldMail, TASK_ID } from './mails.js';

const never = new AbortController().signal;
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
