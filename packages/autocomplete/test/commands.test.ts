import { expect, test } from '@jest/globals';
import { RecentContacts } from '@mortise/autocomplete';
import { connect, freshPrefix } from './connection.js';
import { transcript } from './transcript.js';

const redis = connect();
const prefix = freshPrefix();
const recent = new RecentContacts(redis, { prefix });
const list = 'autocomplete:{anna}:recent:1';

test('each method is one round trip, and calls of a tick share one', async () => {
  // The first use of a script on a server sends its text.
  await recent.touch('anna', 'jack');
  await recent.complete('anna', 'j');

  expect(await transcript(redis, prefix, () => recent.touch('anna', 'jill'))).toEqual([
    `evalsha ${list}`,
    `  lrem ${list}`,
    `  lpush ${list}`,
    `  ltrim ${list}`,
    `  pexpire ${list}`,
  ]);
  expect(
    await transcript(redis, prefix, () =>
      Promise.all([recent.touch('anna', 'joe'), recent.remove('anna', 'jack')]),
    ),
  ).toEqual([
    `evalsha ${list}`,
    `  lrem ${list}`,
    `  lpush ${list}`,
    `  lrem ${list}`,
    `  ltrim ${list}`,
    `  pexpire ${list}`,
  ]);
  expect(await transcript(redis, prefix, () => recent.complete('anna', 'j'))).toEqual([
    `evalsha_ro ${list}`,
    `  lrange ${list}`,
  ]);
  expect(await transcript(redis, prefix, () => recent.list('anna'))).toEqual([`lrange ${list}`]);
});
