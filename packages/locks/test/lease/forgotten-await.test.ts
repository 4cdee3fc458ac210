import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { Mutex } from '@mortise/locks';
import { connect, freshPrefix } from '@mortise/test-kit';

test('a failed release that nobody awaits is no unhandled rejection', async () => {
  const redis = connect();
  const lease = await new Mutex(redis, 'a', { prefix: freshPrefix() }).acquire();
  redis.disconnect();
  const call = lease.release();
  // The runner fails a test with an unhandled rejection.
  for (let n = 0; n < 20; n += 1) await turn();
  await expect(call).rejects.toMatchObject({ code: 'ERR_CLIENT_CLOSED' });
});
