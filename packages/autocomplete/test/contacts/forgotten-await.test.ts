import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { RecentContacts } from '@mortise/autocomplete';
import { connect, freshPrefix } from '@mortise/test-kit';

test('a failed touch that nobody awaits is no unhandled rejection', async () => {
  const redis = connect();
  const contacts = new RecentContacts(redis, { prefix: freshPrefix() });
  await contacts.touch('anna', 'ben');
  redis.disconnect();
  const calls = [contacts.touch('anna', 'carl'), contacts.touchMany('anna', ['carl', 'dora'])];
  // The runner fails a test with an unhandled rejection.
  for (let n = 0; n < 20; n += 1) await turn();
  for (const call of calls) await expect(call).rejects.toMatchObject({ code: 'ERR_CLIENT_CLOSED' });
});
