import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { Chats, Mailboxes } from '@mortise/messaging';
import { connect, freshPrefix, until } from '@mortise/test-kit';

const redis = connect();
const NEVER = -1;
const MINUTE_MS = 60_000;
const WEEK_MS = 7 * 86_400_000;

/** Each key of the prefix, without `<prefix>:messaging:`, and its time to live in ms, or NEVER. */
async function timesToLive(prefix: string): Promise<Record<string, number>> {
  const keys = (await redis.keys(`${prefix}:*`)).toSorted();
  const times = await Promise.all(keys.map((key) => redis.pttl(key)));
  return Object.fromEntries(
    keys.map((key, index) => [key.slice(prefix.length + ':messaging:'.length), times[index]!]),
  );
}

test('every key of a chat is in the table of keys.ts, and goes away when it says', async () => {
  const prefix = freshPrefix();
  const chats = new Chats(redis, { prefix, keepMs: 64_000, dedupMs: 30_000 });
  const chatId = '}x';
  await chats.create({ chatId, sender: 'anna', members: ['bob'], body: 1, id: 'first' });
  const ids = `${prefix}:messaging:{%7Dx}:ids`;
  await redis.hset(ids, '', '-30000');
  await chats.post(chatId, 'bob', 2);
  await chats.edit(chatId, 'anna', 1, 3);
  await chats.setRole(chatId, 'bob', 'reader');
  await chats.join(chatId, 'carl');
  await chats.mute(chatId, 'bob');
  const promised: Record<string, [from: number, to: number]> = {
    'anna}:chats': [NEVER, NEVER],
    'bob}:chats': [NEVER, NEVER],
    'bob}:mutes': [NEVER, NEVER],
    'carl}:chats': [NEVER, NEVER],
    '%7Dx}:chat': [NEVER, NEVER],
    '%7Dx}:log': [45_000, 65_000],
    '%7Dx}:uncounted': [110_000, 130_000],
    '%7Dx}:joined': [110_000, 130_000],
    '%7Dx}:ids': [40_000, 60_000],
    '%7Dx}:ids-before': [40_000, 60_000],
  };
  const times = await timesToLive(prefix);
  expect(Object.keys(times)).toEqual(
    Object.keys(promised)
      .map((key) => `{${key}`)
      .toSorted(),
  );
  const table = readFileSync(new URL('../src/keys.ts', import.meta.url), 'utf8');
  for (const [key, [from, to]] of Object.entries(promised)) {
    expect(times[`{${key}`]).toBeGreaterThanOrEqual(from);
    expect(times[`{${key}`]).toBeLessThanOrEqual(to);
    expect(table).toMatch(
      new RegExp(`\\| \`<prefix>:messaging:\\{<(chatId|member)>\\}:${key.split(':')[1]}\` \\|`),
    );
  }
  await Promise.all(['anna', 'bob', 'carl'].map((member) => chats.leave(chatId, member)));
  const left = Object.entries(await timesToLive(prefix)).filter(([key]) => key.startsWith('{%7Dx}'));
  expect(left).toEqual([
    ['{%7Dx}:ended', expect.any(Number)],
    ['{%7Dx}:left', expect.any(Number)],
  ]);
  expect(left[1]![1]).toBeLessThanOrEqual(60_000);
  expect(await redis.keys(`${prefix}:*:{chats,mutes}`)).toEqual([]);
  expect(left[0]![1]).toBeGreaterThan(3_500_000);
  expect(left[0]![1]).toBeLessThanOrEqual(3_600_000);
  for (const key of ['ended', 'left'])
    expect(table).toContain(`| \`<prefix>:messaging:{<chatId>}:${key}\` |`);
});

test('a silent chat is emptied after keepMs, and lives on', async () => {
  const prefix = freshPrefix();
  const chats = new Chats(redis, { prefix, keepMs: 128 });
  await chats.create({ chatId: 'guild', sender: 'anna', members: ['bob'], body: 1 });
  await until('the log to expire', async () => (await redis.exists(`${prefix}:messaging:{guild}:log`)) === 0);
  expect(await chats.post('guild', 'anna', 2)).toEqual({ id: 2, isDuplicate: false });
  expect(await redis.pttl(`${prefix}:messaging:{guild}:log`)).not.toBe(NEVER);
});

test('each post keeps the log for its time, however often it comes', async () => {
  const prefix = freshPrefix();
  const chats = new Chats(redis, { prefix, keepMs: 6_400 });
  await chats.create({ chatId: 'guild', sender: 'anna', members: ['bob'] });
  const now = async (): Promise<number> => {
    const [seconds, micros] = await redis.time();
    return Math.floor(1_000 * Number(seconds) + Number(micros) / 1_000);
  };
  const startedAt = await now();
  // On the clock of the server: what happens in between takes nothing off it.
  await until('half a second of posts', async () => {
    const before = await now();
    await chats.post('guild', 'anna', 1);
    const after = await now();
    const expiresAt = Number(await redis.call('pexpiretime', `${prefix}:messaging:{guild}:log`));
    expect(expiresAt).toBeGreaterThanOrEqual(before + 6_400);
    expect(expiresAt).toBeLessThanOrEqual(after + 6_500);
    return after - startedAt > 500;
  });
});

test('every key of a mailbox expires as it promises, but the list of blocked senders', async () => {
  const prefix = freshPrefix();
  const [keepMs, dedupMs] = [64 * MINUTE_MS, 10 * MINUTE_MS];
  const mailboxes = new Mailboxes(redis, { prefix, keepMs, dedupMs });
  const box = `${prefix}:messaging:{%7Dx}:mailbox`;
  await mailboxes.send('}x', 1, { from: 'anna' });
  // The next message is in the next window of ids.
  await redis.zincrby(box, dedupMs, '\0e');
  await mailboxes.send('}x', 2, { from: 'anna', ttlMs: MINUTE_MS });
  await mailboxes.send('}x', 3, { from: 'anna', ttlMs: MINUTE_MS });
  await redis.zadd(`${box}-expiring`, 'XX', 1, 2);
  await mailboxes.receive('}x');
  await mailboxes.addDevice('}x', 'phone');
  await mailboxes.block('}x', 'joe');
  // Reads leave nothing.
  await mailboxes.receive('reader', { waitMs: 10 });
  for (const read of ['unread', 'status', 'devices', 'blocked', 'clear'] as const)
    await mailboxes[read]('reader');
  await mailboxes.ack('reader', 0);
  await mailboxes.removeDevice('reader', 'main');
  await mailboxes.unblock('reader', 'joe');

  const times = await timesToLive(prefix);
  const promised = {
    '': keepMs + WEEK_MS,
    '-blocked': NEVER,
    '-expiring': 3 * keepMs,
    '-fetched': keepMs + WEEK_MS,
    '-ids': 2 * dedupMs,
    '-ids-before': 2 * dedupMs,
    '-log': keepMs + MINUTE_MS,
    '-uncounted': 3 * keepMs,
  };
  expect(Object.keys(times)).toEqual(Object.keys(promised).map((part) => `{%7Dx}:mailbox${part}`));
  for (const [part, promise] of Object.entries(promised)) {
    const time = times[`{%7Dx}:mailbox${part}`];
    expect([part, time! <= promise && time! > promise - MINUTE_MS / 2]).toEqual([part, true]);
  }
});

test('by default messages of a mailbox stay for 30 days, ids for 20 minutes, the numbering for 37 days', async () => {
  const prefix = freshPrefix();
  await new Mailboxes(redis, { prefix }).send('jack', 1, { from: 'anna' });
  const days = (count: number): number => Math.ceil((count * 86_400_000) / MINUTE_MS);
  const times = await timesToLive(prefix);
  expect(Object.entries(times).map(([key, time]) => [key, Math.ceil(time / MINUTE_MS)])).toEqual([
    ['{jack}:mailbox', days(37)],
    ['{jack}:mailbox-ids', 20],
    ['{jack}:mailbox-log', days(30 + 30 / 64)],
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
  expect(await timesToLive(prefix)).toHaveProperty(['{jack}:mailbox-uncounted']);
  await mailboxes.ack('jack', 3);
  expect(Object.keys(await timesToLive(prefix))).toEqual(['{jack}:mailbox', '{jack}:mailbox-ids']);
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
  expect(Object.keys(await timesToLive(prefix))).toEqual(['{jack}:mailbox']);
});
