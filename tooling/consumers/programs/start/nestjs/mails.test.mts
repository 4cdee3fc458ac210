import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Mails } from './mails.mjs';

test('a mail that fails is sent again', async () => {
  const mails = new Mails();
  const to = 'ann@example.com';
  await assert.rejects(mails.welcome({ to }, { attempt: 1 }), { message: 'the mail server is busy' });
  assert.equal(await mails.welcome({ to }, { attempt: 2 }), 'mail to ann@example.com, attempt 2');
});
