import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runTask } from '@mortise/queues/testing';
import { welcome } from './mails.mjs';

test('a mail that fails is sent again', async () => {
  const attempts = await runTask({ welcome }, 'welcome', { to: 'ann' });
  assert.equal(attempts.length, 2);
});
