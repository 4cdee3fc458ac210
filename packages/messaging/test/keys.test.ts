import { expect, test } from '@jest/globals';
import { Mailboxes } from '@mortise/messaging';
import { connect, freshPrefix } from '@mortise/test-kit';

const redis = connect();
const DAY_MS = 86_400_000;
const SECOND_MS = 1_000;

/** Each key of the prefix and its time to live in ms. */
async function timesToLive(prefix: string): Promise<Record<string, number>> {
  const keys = (await redis.keys(`${prefix}:*`)).toSorted();
  const times = await Promise.all(keys.map((key) => redis.pttl(key)));
  return Object.fromEntries(keys.map((key, index) => [key.slice(prefix.length), times[index]!]));
}

test('every key expires: messages after their retention, ids after theirs, the numbering a week later', async () => {
  const prefix = freshPrefix();
  const mailboxes = new Mailboxes(redis, { prefix, retentionMs: 60_000, dedupMs: 30_000 });
  await mailboxes.send('}x', 1, { from: 'anna' });
  await redis.hincrby(`${prefix}:messaging:{%7Dx}:mailbox`, 'idsSince', -30_000);
  await mailboxes.send('}x', 2, { from: 'anna' });
  await mailboxes.receive('}x');
  await mailboxes.receive('reader', { waitMs: 10 });
  await mailboxes.unread('reader');
  await mailboxes.status('reader');
  await mailboxes.clear('reader');
  await mailboxes.ack('reader', 0);

  const times = await timesToLive(prefix);
  const promised = {
    ':messaging:{%7Dx}:mailbox': 60_000 + 7 * DAY_MS,
    ':messaging:{%7Dx}:mailbox-ids': 30_000,
    ':messaging:{%7Dx}:mailbox-ids-before': 30_000,
    ':messaging:{%7Dx}:mailbox-messages': 60_000,
  };
  expect(Object.keys(times)).toEqual(Object.keys(promised));
  for (const [key, promise] of Object.entries(promised)) {
    expect(times[key]).toBeLessThanOrEqual(promise);
    expect(times[key]).toBeGreaterThan(promise - 20 * SECOND_MS);
  }
});

test('by default messages stay for 30 days, ids for 10 minutes', async () => {
  const prefix = freshPrefix();
  await new Mailboxes(redis, { prefix }).send('jack', 1, { from: 'anna' });
  const times = await timesToLive(prefix);
  expect(Object.entries(times).map(([key, time]) => [key, Math.ceil(time / 60_000)])).toEqual([
    [':messaging:{jack}:mailbox', (37 * DAY_MS) / 60_000],
    [':messaging:{jack}:mailbox-ids', 10],
    [':messaging:{jack}:mailbox-messages', (30 * DAY_MS) / 60_000],
  ]);
});

test('acking everything leaves no messages behind', async () => {
  const prefix = freshPrefix();
  const mailboxes = new Mailboxes(redis, { prefix });
  await mailboxes.send('jack', 1, { from: 'anna' });
  await mailboxes.ack('jack', 1);
  expect(Object.keys(await timesToLive(prefix))).toEqual([
    ':messaging:{jack}:mailbox',
    ':messaging:{jack}:mailbox-ids',
  ]);
});
