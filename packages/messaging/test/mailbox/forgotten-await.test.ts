import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { Mailboxes } from '@mortise/messaging';
import { connect, freshPrefix } from '@mortise/test-kit';

test('a failed send that nobody awaits is no unhandled rejection', async () => {
  const redis = connect();
  const mailboxes = new Mailboxes(redis, { prefix: freshPrefix() });
  await mailboxes.send('jack', 1, { from: 'anna' });
  redis.disconnect();
  const call = mailboxes.send('jack', 2, { from: 'anna' });
  // The runner fails a test with an unhandled rejection.
  for (let n = 0; n < 20; n += 1) await turn();
  await expect(call).rejects.toMatchObject({ code: 'ERR_CLIENT_CLOSED' });
});
