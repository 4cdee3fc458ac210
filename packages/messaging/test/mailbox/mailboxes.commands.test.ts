import { expect, test } from '@jest/globals';
import { Mailboxes } from '@mortise/messaging';
import { commands, commandTable, connect, freshPrefix } from '@mortise/test-kit';
import * as scripts from '../../src/scripts.gen.js';

const redis = connect();
const prefix = freshPrefix();
const mailboxes = new Mailboxes(redis, { prefix });
const jack = `${prefix}:messaging:{jack}:mailbox`;
const see = (steps: Readonly<Record<string, () => Promise<unknown>>>): Promise<string> =>
  commandTable(redis, { prefix, scripts }, steps);

test('each method is one round trip, and calls of a tick share one', async () => {
  // The first use of a script on a server sends its text.
  await mailboxes.send('warm', 1, { from: 'anna' });
  await mailboxes.receive('warm');
  await mailboxes.unread('warm');
  await mailboxes.status('warm');
  await mailboxes.ack('warm', 1);
  await mailboxes.addDevice('warm', 'phone');
  await mailboxes.removeDevice('warm', 'phone');
  await mailboxes.block('warm', 'joe');

  const two = [2, 3].map((body) => ({ recipient: 'jack', body, from: 'anna', ttlMs: 60_000 }));
  expect(
    await see({
      'send to a new mailbox': () => mailboxes.send('jack', 1, { from: 'anna' }),
      'sendMany with ttlMs': () => mailboxes.sendMany(two),
      receive: () => mailboxes.receive('jack'),
    }),
  ).toMatchInlineSnapshot(`
"send to a new mailbox → mailbox.send:  time · zrangebyscore mailbox-expiring · zmscore mailbox · smismember mailbox-blocked · unlink mailbox-log mailbox-uncounted mailbox-ids mailbox-ids-before mailbox-expiring · zadd mailbox · llen mailbox-log · hmget mailbox-ids · hmget mailbox-ids-before · hset mailbox-ids · pexpire mailbox-ids · hset mailbox-ids · rpush mailbox-log · pexpire mailbox-log · zadd mailbox · pexpire mailbox · publish mailbox-wake
sendMany with ttlMs → mailbox.send:  time · zrangebyscore mailbox-expiring · zmscore mailbox · smismember mailbox-blocked · llen mailbox-log · hmget mailbox-ids · hmget mailbox-ids-before · hset mailbox-ids · rpush mailbox-log · zadd mailbox · pexpire mailbox · zadd mailbox-expiring · pexpire mailbox-expiring · publish mailbox-wake
receive → mailbox.receive:  time · zrangebyscore mailbox-expiring · zmscore mailbox · hget mailbox-fetched · hset mailbox-fetched · pexpire mailbox-fetched · pexpire mailbox · llen mailbox-log · zcount mailbox-uncounted · lrange mailbox-log"
`);
  // Within a second, the time of the last fetch is not written again.
  await redis.hset(`${jack}-fetched`, 'main', Date.now() + 60_000);
  expect(
    await see({
      'receive again': () => mailboxes.receive('jack'),
      unread: () => mailboxes.unread('jack'),
      status: () => mailboxes.status('jack'),
      'acks of a tick': () => Promise.all([mailboxes.ack('jack', 1), mailboxes.ack('jack', 2)]),
      'ack again': () => mailboxes.ack('jack', 1),
      clear: () => mailboxes.clear('jack'),
      'receive nothing': () => mailboxes.receive('jack'),
      addDevice: () => mailboxes.addDevice('jack', 'phone'),
      removeDevice: () => mailboxes.removeDevice('jack', 'phone'),
      'block and unblock': () =>
        Promise.all([mailboxes.block('jack', 'joe'), mailboxes.unblock('jack', 'joe')]),
      blocked: () => mailboxes.blocked('jack'),
    }),
  ).toMatchInlineSnapshot(`
"receive again → mailbox.receive:  time · zrangebyscore mailbox-expiring · zmscore mailbox · hget mailbox-fetched · llen mailbox-log · zcount mailbox-uncounted · lrange mailbox-log
unread → mailbox.unread:  time · zrangebyscore mailbox-expiring · zmscore mailbox · llen mailbox-log · zcount mailbox-uncounted
status → mailbox.status:  time · zrangebyscore mailbox-expiring · zrange mailbox · llen mailbox-log · exists mailbox-uncounted · lindex mailbox-log · hget mailbox-fetched
acks of a tick → mailbox.ack:  time · zrangebyscore mailbox-expiring · zmscore mailbox · llen mailbox-log · zcount mailbox-uncounted ×2 · zadd mailbox · zrange mailbox · exists mailbox-uncounted · exists mailbox-expiring · zrem mailbox-expiring · llen mailbox-log · lpop mailbox-log · zincrby mailbox · zremrangebyscore mailbox-uncounted
ack again → mailbox.ack:  time · zrangebyscore mailbox-expiring · zmscore mailbox · llen mailbox-log
clear → mailbox.ack:  time · zrangebyscore mailbox-expiring · zmscore mailbox · llen mailbox-log · zcount mailbox-uncounted · zadd mailbox · zrange mailbox · exists mailbox-expiring · zrem mailbox-expiring · unlink mailbox-log mailbox-uncounted
receive nothing → mailbox.receive:  time · zrangebyscore mailbox-expiring · zmscore mailbox · hget mailbox-fetched
addDevice → mailbox.add-device:  zmscore mailbox · zcard mailbox · zadd mailbox · pexpire mailbox
removeDevice → mailbox.remove-device:  zrem mailbox · hdel mailbox-fetched · zscore mailbox · llen mailbox-log · zrange mailbox
block and unblock → mailbox.block:  scard mailbox-blocked · sadd mailbox-blocked · srem mailbox-blocked
blocked → smembers mailbox-blocked"
`);
});

test('expired messages cost the next call six commands, and two for each', async () => {
  await mailboxes.clear('jack');
  await mailboxes.send('jack', 1, { from: 'anna' });
  const { id } = await mailboxes.send('jack', 1, { from: 'anna', ttlMs: 60_000 });
  await redis.zadd(`${jack}-expiring`, 'XX', 1, id);
  expect(await see({ unread: () => mailboxes.unread('jack') })).toMatchInlineSnapshot(
    `"unread → mailbox.unread:  time · zrangebyscore mailbox-expiring · zrem mailbox-expiring · zmscore mailbox · llen mailbox-log · lindex mailbox-log · lset mailbox-log · zadd mailbox · zremrangebyscore mailbox-uncounted · zadd mailbox-uncounted · pexpire mailbox-uncounted · zrange mailbox · exists mailbox-uncounted · lindex mailbox-log · zmscore mailbox · llen mailbox-log · zcount mailbox-uncounted"`,
  );
});

test('a wait is one subscription and one more look, also for many', async () => {
  const sent = await commands(
    redis,
    {
      prefix,
      scripts,
      show: 'outside',
      // A last look when the time is over, for both timers or for each.
      edit: (lines) => lines.slice(0, lines.length > 5 ? -1 : undefined),
    },
    () => Promise.all([1, 2].map(() => mailboxes.receive('jill', { waitMs: 2_500 }))),
  );
  // PING once for each client: its reply shows which protocol it speaks.
  expect(sent).toMatchInlineSnapshot(`
"mailbox.receive
ping
subscribe mailbox-wake
mailbox.receive ×2"
`);
});
