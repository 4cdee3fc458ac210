import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { RecentContacts } from '@mortise/autocomplete';
import { connect, freshPrefix } from '@mortise/test-kit';

test('a failed touch that nobody awaits is no unhandled rejection', async () => {
  const redis = connect();
  const contacts = new RecentContacts(redis, { prefix: freshPrefix() });
  await contacts.touch('anna', 'ben');
  redis.disconnect();
  const call = contacts.touch('anna', 'carl');
  // The runner fails a test with an unhandled rejection.
  for (let n = 0; n < 20; n += 1) await turn();
  await expect(call).rejects.toThrow('Connection is closed');
});
