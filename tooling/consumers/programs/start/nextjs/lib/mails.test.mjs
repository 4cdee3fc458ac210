import assert from 'node:assert/strict';
import { test } from 'node:test';
import { welcome } from './mails.mjs';

test('a mail that fails is sent again', async () => {
  await assert.rejects(welcome({ to: 'ann' }, { attempt: 1 }), { message: 'the mail server is busy' });
  await welcome({ to: 'ann' }, { attempt: 2 });
});
