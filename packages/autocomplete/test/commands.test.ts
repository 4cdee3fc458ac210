import { expect, test } from '@jest/globals';
import { RecentContacts } from '@mortise/autocomplete';
import { connect, freshPrefix, transcript } from '@mortise/test-kit';
import * as scripts from '../src/scripts.gen.js';

const redis = connect();
const prefix = freshPrefix();
const scope = { prefix, scripts };
const recent = new RecentContacts(redis, { prefix });
const list = 'autocomplete:{anna}:recent:1';

test('each method is one round trip, and calls of a tick share one', async () => {
  // The first use of a script on a server sends its text.
  await recent.touch('anna', 'jack');
  await recent.complete('anna', 'j');

  expect(await transcript(redis, scope, () => recent.touch('anna', 'jill'))).toEqual([
    `evalsha recent-contacts.apply ${list}`,
    `  lrem ${list}`,
    `  lpush ${list}`,
    `  ltrim ${list}`,
    `  pexpire ${list}`,
  ]);
  expect(
    await transcript(redis, scope, () =>
      Promise.all([recent.touch('anna', 'joe'), recent.remove('anna', 'jack')]),
    ),
  ).toEqual([
    `evalsha recent-contacts.apply ${list}`,
    `  lrem ${list}`,
    `  lpush ${list}`,
    `  lrem ${list}`,
    `  ltrim ${list}`,
    `  pexpire ${list}`,
  ]);
  expect(await transcript(redis, scope, () => recent.complete('anna', 'j'))).toEqual([
    `evalsha_ro recent-contacts.complete ${list}`,
    `  lrange ${list}`,
  ]);
  expect(await transcript(redis, scope, () => recent.list('anna'))).toEqual([`lrange ${list}`]);
});
