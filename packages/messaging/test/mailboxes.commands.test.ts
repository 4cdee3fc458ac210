import { expect, test } from '@jest/globals';
import { Mailboxes } from '@mortise/messaging';
import { connect, freshPrefix, transcript } from '@mortise/test-kit';
import * as scripts from '../src/scripts.gen.js';

const redis = connect();
const prefix = freshPrefix();
const mailboxes = new Mailboxes(redis, { prefix });
const jack = `${prefix}:messaging:{jack}:mailbox`;

/** The commands, with `~` for the key of the mailbox. */
async function commandsOf(call: () => Promise<unknown>): Promise<string[]> {
  const lines = await transcript(redis, { prefix, scripts }, call);
  return lines.map((line) => line.replaceAll('messaging:{jack}:mailbox', '~'));
}

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

  // The first message makes the mailbox.
  expect(await commandsOf(() => mailboxes.send('jack', 1, { from: 'anna' }))).toEqual([
    'evalsha mailbox.send ~ ~-log ~-uncounted ~-ids ~-ids-before ~-expiring ~-blocked ~-wake',
    '  time',
    '  zrangebyscore ~-expiring',
    '  zmscore ~',
    '  smismember ~-blocked',
    '  unlink ~-log ~-uncounted ~-ids ~-ids-before ~-expiring',
    '  zadd ~',
    '  llen ~-log',
    '  hmget ~-ids',
    '  hmget ~-ids-before',
    '  hset ~-ids',
    '  pexpire ~-ids',
    '  hset ~-ids',
    '  rpush ~-log',
    '  pexpire ~-log',
    '  zadd ~',
    '  pexpire ~',
    '  publish ~-wake',
  ]);
  const two = [2, 3].map((body) => ({ recipient: 'jack', body, from: 'anna', ttlMs: 60_000 }));
  expect(await commandsOf(() => mailboxes.sendMany(two))).toEqual([
    'evalsha mailbox.send ~ ~-log ~-uncounted ~-ids ~-ids-before ~-expiring ~-blocked ~-wake',
    '  time',
    '  zrangebyscore ~-expiring',
    '  zmscore ~',
    '  smismember ~-blocked',
    '  llen ~-log',
    '  hmget ~-ids',
    '  hmget ~-ids-before',
    '  hset ~-ids',
    '  rpush ~-log',
    '  zadd ~',
    '  pexpire ~',
    '  zadd ~-expiring',
    '  pexpire ~-expiring',
    '  publish ~-wake',
  ]);
  expect(await commandsOf(() => mailboxes.receive('jack'))).toEqual([
    'evalsha mailbox.receive ~ ~-log ~-uncounted ~-expiring ~-fetched',
    '  time',
    '  zrangebyscore ~-expiring',
    '  zmscore ~',
    '  hget ~-fetched',
    '  hset ~-fetched',
    '  pexpire ~-fetched',
    '  pexpire ~',
    '  llen ~-log',
    '  zcount ~-uncounted',
    '  lrange ~-log',
  ]);
  // Within a second, the time of the last fetch is not written again.
  await redis.hset(`${jack}-fetched`, 'main', Date.now() + 60_000);
  expect(await commandsOf(() => mailboxes.receive('jack'))).toEqual([
    'evalsha mailbox.receive ~ ~-log ~-uncounted ~-expiring ~-fetched',
    '  time',
    '  zrangebyscore ~-expiring',
    '  zmscore ~',
    '  hget ~-fetched',
    '  llen ~-log',
    '  zcount ~-uncounted',
    '  lrange ~-log',
  ]);
  expect(await commandsOf(() => mailboxes.unread('jack'))).toEqual([
    'evalsha mailbox.unread ~ ~-log ~-uncounted ~-expiring',
    '  time',
    '  zrangebyscore ~-expiring',
    '  zmscore ~',
    '  llen ~-log',
    '  zcount ~-uncounted',
  ]);
  expect(await commandsOf(() => mailboxes.status('jack'))).toEqual([
    'evalsha mailbox.status ~ ~-log ~-uncounted ~-expiring ~-fetched',
    '  time',
    '  zrangebyscore ~-expiring',
    '  zrange ~',
    '  llen ~-log',
    '  exists ~-uncounted',
    '  lindex ~-log',
    '  hget ~-fetched',
  ]);
  expect(await commandsOf(() => Promise.all([mailboxes.ack('jack', 1), mailboxes.ack('jack', 2)]))).toEqual([
    'evalsha mailbox.ack ~ ~-log ~-uncounted ~-expiring',
    '  time',
    '  zrangebyscore ~-expiring',
    '  zmscore ~',
    '  llen ~-log',
    '  zcount ~-uncounted',
    '  zcount ~-uncounted',
    '  zadd ~',
    '  zrange ~',
    '  exists ~-uncounted',
    '  exists ~-expiring',
    '  zrem ~-expiring',
    '  llen ~-log',
    '  lpop ~-log',
    '  zincrby ~',
    '  zremrangebyscore ~-uncounted',
  ]);
  expect(await commandsOf(() => mailboxes.ack('jack', 1))).toEqual([
    'evalsha mailbox.ack ~ ~-log ~-uncounted ~-expiring',
    '  time',
    '  zrangebyscore ~-expiring',
    '  zmscore ~',
    '  llen ~-log',
  ]);
  expect(await commandsOf(() => mailboxes.clear('jack'))).toEqual([
    'evalsha mailbox.ack ~ ~-log ~-uncounted ~-expiring',
    '  time',
    '  zrangebyscore ~-expiring',
    '  zmscore ~',
    '  llen ~-log',
    '  zcount ~-uncounted',
    '  zadd ~',
    '  zrange ~',
    '  exists ~-expiring',
    '  zrem ~-expiring',
    '  unlink ~-log ~-uncounted',
  ]);
  expect(await commandsOf(() => mailboxes.receive('jack'))).toEqual([
    'evalsha mailbox.receive ~ ~-log ~-uncounted ~-expiring ~-fetched',
    '  time',
    '  zrangebyscore ~-expiring',
    '  zmscore ~',
    '  hget ~-fetched',
  ]);
  expect(await commandsOf(() => mailboxes.addDevice('jack', 'phone'))).toEqual([
    'evalsha mailbox.add-device ~ ~-log ~-uncounted ~-ids ~-ids-before ~-expiring',
    '  zmscore ~',
    '  zcard ~',
    '  zadd ~',
    '  pexpire ~',
  ]);
  expect(await commandsOf(() => mailboxes.removeDevice('jack', 'phone'))).toEqual([
    'evalsha mailbox.remove-device ~ ~-log ~-uncounted ~-expiring ~-fetched',
    '  zrem ~',
    '  hdel ~-fetched',
    '  zscore ~',
    '  llen ~-log',
    '  zrange ~',
  ]);
  expect(
    await commandsOf(() => Promise.all([mailboxes.block('jack', 'joe'), mailboxes.unblock('jack', 'joe')])),
  ).toEqual(['evalsha mailbox.block ~-blocked', '  scard ~-blocked', '  sadd ~-blocked', '  srem ~-blocked']);
  expect(await commandsOf(() => mailboxes.blocked('jack'))).toEqual(['smembers ~-blocked']);
});

test('what has expired costs the next call six commands, and two for each', async () => {
  await mailboxes.clear('jack');
  await mailboxes.send('jack', 1, { from: 'anna' });
  const { id } = await mailboxes.send('jack', 1, { from: 'anna', ttlMs: 60_000 });
  await redis.zadd(`${jack}-expiring`, 'XX', 1, id);
  expect(await commandsOf(() => mailboxes.unread('jack'))).toEqual([
    'evalsha mailbox.unread ~ ~-log ~-uncounted ~-expiring',
    '  time',
    '  zrangebyscore ~-expiring',
    '  zrem ~-expiring',
    '  zmscore ~',
    '  llen ~-log',
    '  lindex ~-log',
    '  lset ~-log',
    '  zadd ~',
    '  zremrangebyscore ~-uncounted',
    '  zadd ~-uncounted',
    '  pexpire ~-uncounted',
    '  zrange ~',
    '  exists ~-uncounted',
    '  lindex ~-log',
    '  zmscore ~',
    '  llen ~-log',
    '  zcount ~-uncounted',
  ]);
});

test('waiting is one subscription and one more look, however many wait', async () => {
  const lines = await transcript(redis, { prefix, scripts }, () =>
    Promise.all([1, 2].map(() => mailboxes.receive('jill', { waitMs: 2_500 }))),
  );
  const keys = ['', '-log', '-uncounted', '-expiring', '-fetched'].map(
    (part) => `messaging:{jill}:mailbox${part}`,
  );
  const look = `evalsha mailbox.receive ${keys.join(' ')}`;
  const sent = lines.filter((line) => !line.startsWith('  '));
  expect(sent.slice(0, 4)).toEqual([
    // Those who look at the same time look together.
    look,
    // Once for each client: a reply tells which protocol it speaks.
    'ping',
    'subscribe messaging:{jill}:mailbox-wake',
    look,
  ]);
  // And a last one when the time is over, for both timers or for each.
  expect(sent.slice(4).filter((line) => line !== look)).toEqual([]);
  expect([5, 6]).toContain(sent.length);
});
