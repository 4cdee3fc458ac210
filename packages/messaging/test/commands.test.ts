import { expect, test } from '@jest/globals';
import { Mailboxes } from '@mortise/messaging';
import { connect, freshPrefix, transcript } from '@mortise/test-kit';
import * as scripts from '../src/scripts.gen.js';

const redis = connect();
const prefix = freshPrefix();
const scope = { prefix, scripts };
const mailboxes = new Mailboxes(redis, { prefix });
const box = 'messaging:{jack}:mailbox';
const keys = `${box} ${box}-messages`;

test('each method is one round trip, and calls of a tick share one', async () => {
  // The first use of a script on a server sends its text.
  await mailboxes.send('warm', 1, { from: 'anna' });
  await mailboxes.receive('warm');
  await mailboxes.status('warm');
  await mailboxes.ack('warm', 1);

  const allKeys = `${keys} ${box}-ids ${box}-ids-before ${box}-wake`;
  const message = [
    `  hget ${box}-ids`,
    `  hget ${box}-ids-before`,
    `  rpush ${box}-messages`,
    `  hset ${box}-ids`,
  ];
  const end = [`  hset ${box}`, `  pexpire ${box}`, `  pexpire ${box}-messages`, `  pexpire ${box}-ids`];
  expect(await transcript(redis, scope, () => mailboxes.send('jack', 1, { from: 'anna' }))).toEqual([
    `evalsha mailbox.send ${allKeys}`,
    '  time',
    `  hmget ${box}`,
    // The first message of a mailbox.
    `  unlink ${box}-messages ${box}-ids ${box}-ids-before`,
    `  hset ${box}`,
    `  hlen ${box}-ids`,
    `  llen ${box}-messages`,
    ...message,
    ...end,
    // The mailbox was empty: somebody may wait for it.
    `  publish ${box}-wake`,
  ]);
  const two = [2, 3].map((body) => ({ recipient: 'jack', body, from: 'anna' }));
  expect(await transcript(redis, scope, () => mailboxes.sendMany(two))).toEqual([
    `evalsha mailbox.send ${allKeys}`,
    '  time',
    `  hmget ${box}`,
    `  hlen ${box}-ids`,
    `  llen ${box}-messages`,
    `  lindex ${box}-messages`,
    ...message,
    ...message,
    ...end,
  ]);
  expect(await transcript(redis, scope, () => mailboxes.receive('jack', { waitMs: 1_000 }))).toEqual([
    `evalsha_ro mailbox.receive ${keys}`,
    `  hmget ${box}`,
    `  llen ${box}-messages`,
    `  lrange ${box}-messages`,
  ]);
  expect(await transcript(redis, scope, () => mailboxes.unread('jack'))).toEqual([`llen ${box}-messages`]);
  expect(await transcript(redis, scope, () => mailboxes.status('jack'))).toEqual([
    `evalsha_ro mailbox.status ${keys}`,
    `  hmget ${box}`,
    `  lindex ${box}-messages`,
    `  llen ${box}-messages`,
  ]);
  expect(
    await transcript(redis, scope, () => Promise.all([mailboxes.ack('jack', 1), mailboxes.ack('jack', 2)])),
  ).toEqual([
    `evalsha mailbox.ack ${keys}`,
    `  hmget ${box}`,
    `  llen ${box}-messages`,
    `  hset ${box}`,
    `  ltrim ${box}-messages`,
  ]);
  expect(await transcript(redis, scope, () => mailboxes.clear('jack'))).toEqual([
    `evalsha mailbox.ack ${keys}`,
    `  hmget ${box}`,
    `  llen ${box}-messages`,
    `  hset ${box}`,
    `  ltrim ${box}-messages`,
  ]);
});

test('waiting is one subscription and one more look, however many wait', async () => {
  const lines = await transcript(redis, scope, () =>
    Promise.all([1, 2].map(() => mailboxes.receive('jill', { waitMs: 2_500 }))),
  );
  expect(lines.filter((line) => !line.startsWith('  '))).toEqual([
    'evalsha_ro mailbox.receive messaging:{jill}:mailbox messaging:{jill}:mailbox-messages',
    'evalsha_ro mailbox.receive messaging:{jill}:mailbox messaging:{jill}:mailbox-messages',
    // Once for each client: a reply tells which protocol it speaks.
    'ping',
    'subscribe messaging:{jill}:mailbox-wake',
    'evalsha_ro mailbox.receive messaging:{jill}:mailbox messaging:{jill}:mailbox-messages',
    'evalsha_ro mailbox.receive messaging:{jill}:mailbox messaging:{jill}:mailbox-messages',
    // And a last one each when the time is over.
    'evalsha_ro mailbox.receive messaging:{jill}:mailbox messaging:{jill}:mailbox-messages',
    'evalsha_ro mailbox.receive messaging:{jill}:mailbox messaging:{jill}:mailbox-messages',
  ]);
});
