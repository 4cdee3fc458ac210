import { expect, test } from '@jest/globals';
import { Mailboxes } from '@mortise/messaging';
import { connect, freshPrefix } from '@mortise/test-kit';

const redis = connect();
const MINUTE_MS = 60_000;
const WEEK_MS = 7 * 86_400_000;
const RETENTION_MS = 64 * MINUTE_MS;
const DEDUP_MS = 10 * MINUTE_MS;

/** Each key of the prefix and its time to live in ms, -1 for ever. */
async function timesToLive(prefix: string): Promise<Record<string, number>> {
  const keys = (await redis.keys(`${prefix}:*`)).toSorted();
  const times = await Promise.all(keys.map((key) => redis.pttl(key)));
  return Object.fromEntries(keys.map((key, index) => [key.slice(prefix.length), times[index]!]));
}

test('every key expires as it promises, but the list of blocked senders', async () => {
  const prefix = freshPrefix();
  const mailboxes = new Mailboxes(redis, { prefix, keepMs: RETENTION_MS, dedupMs: DEDUP_MS });
  const box = `${prefix}:messaging:{%7Dx}:mailbox`;
  await mailboxes.send('}x', 1, { from: 'anna' });
  // The next message is in the next window of ids.
  await redis.zincrby(box, DEDUP_MS, '\0e');
  await mailboxes.send('}x', 2, { from: 'anna', ttlMs: MINUTE_MS });
  await mailboxes.send('}x', 3, { from: 'anna', ttlMs: MINUTE_MS });
  await redis.zadd(`${box}-expiring`, 'XX', 1, 2);
  await mailboxes.receive('}x');
  await mailboxes.addDevice('}x', 'phone');
  await mailboxes.block('}x', 'joe');
  // Reads leave nothing.
  await mailboxes.receive('reader', { waitMs: 10 });
  await mailboxes.unread('reader');
  await mailboxes.status('reader');
  await mailboxes.devices('reader');
  await mailboxes.blocked('reader');
  await mailboxes.clear('reader');
  await mailboxes.ack('reader', 0);
  await mailboxes.removeDevice('reader', 'main');
  await mailboxes.unblock('reader', 'joe');

  const times = await timesToLive(prefix);
  const promised = {
    '': RETENTION_MS + WEEK_MS,
    '-blocked': -1,
    '-expiring': 3 * RETENTION_MS,
    '-fetched': RETENTION_MS + WEEK_MS,
    '-ids': 2 * DEDUP_MS,
    '-ids-before': 2 * DEDUP_MS,
    '-log': RETENTION_MS + MINUTE_MS,
    '-uncounted': 3 * RETENTION_MS,
  };
  expect(Object.keys(times)).toEqual(Object.keys(promised).map((part) => `:messaging:{%7Dx}:mailbox${part}`));
  for (const [part, promise] of Object.entries(promised)) {
    const time = times[`:messaging:{%7Dx}:mailbox${part}`];
    expect([part, time! <= promise && time! > promise - MINUTE_MS / 2]).toEqual([part, true]);
  }
});

test('by default messages stay for 30 days, ids for 20 minutes, the numbering for 37 days', async () => {
  const prefix = freshPrefix();
  await new Mailboxes(redis, { prefix }).send('jack', 1, { from: 'anna' });
  const days = (count: number): number => Math.ceil((count * 86_400_000) / MINUTE_MS);
  const times = await timesToLive(prefix);
  expect(Object.entries(times).map(([key, time]) => [key, Math.ceil(time / MINUTE_MS)])).toEqual([
    [':messaging:{jack}:mailbox', days(37)],
    [':messaging:{jack}:mailbox-ids', 20],
    [':messaging:{jack}:mailbox-log', days(30 + 30 / 64)],
  ]);
});

test('an ack of everything leaves no messages, also none that expire or have expired', async () => {
  const prefix = freshPrefix();
  const mailboxes = new Mailboxes(redis, { prefix });
  await mailboxes.sendMany(
    [1, 2, 3].map((body) => ({ recipient: 'jack', body, from: 'anna', ttlMs: MINUTE_MS })),
  );
  await redis.zadd(`${prefix}:messaging:{jack}:mailbox-expiring`, 'XX', 1, 2);
  await mailboxes.unread('jack');
  expect(await timesToLive(prefix)).toHaveProperty([':messaging:{jack}:mailbox-uncounted']);
  await mailboxes.ack('jack', 3);
  expect(Object.keys(await timesToLive(prefix))).toEqual([
    ':messaging:{jack}:mailbox',
    ':messaging:{jack}:mailbox-ids',
  ]);
});

test('a device that comes keeps its mailbox alive', async () => {
  const prefix = freshPrefix();
  const mailboxes = new Mailboxes(redis, { prefix });
  await mailboxes.addDevice('jack', 'phone');
  const box = `${prefix}:messaging:{jack}:mailbox`;
  await redis.pexpire(box, MINUTE_MS);
  await mailboxes.receive('jack', { device: 'phone' });
  expect(await redis.pttl(box)).toBeGreaterThan(WEEK_MS);
  await mailboxes.removeDevice('jack', 'phone');
  expect(Object.keys(await timesToLive(prefix))).toEqual([':messaging:{jack}:mailbox']);
});
