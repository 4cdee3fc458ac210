import { expect, test } from '@jest/globals';
import { Chats } from '@mortise/messaging';
import { connect, freshPrefix, transcript } from '@mortise/test-kit';
import * as scripts from '../src/scripts.gen.js';

const redis = connect();
const prefix = freshPrefix();
const scope = { prefix, scripts };
const chats = new Chats(redis, { prefix });
const guild = 'messaging:{guild}';
const post = `${guild}:chat ${guild}:log ${guild}:ids ${guild}:ids-before ${guild}:events`;
const revise = `${guild}:chat ${guild}:log ${guild}:uncounted ${guild}:ids ${guild}:ids-before ${guild}:events`;
const all = `${guild}:chat ${guild}:log ${guild}:uncounted ${guild}:joined ${guild}:ids ${guild}:ids-before ${guild}:ended ${guild}:left ${guild}:events`;

/** Scripts that a server doesn't know are sent as text, once. */
async function warm(): Promise<void> {
  await chats.create({ chatId: 'warm', sender: 'anna', members: ['bob'], body: 1 });
  await chats.join('warm', 'carl');
  await chats.post('warm', 'anna', 2);
  await chats.edit('warm', 'anna', 2, 3);
  await chats.ack('warm', 'bob', 2);
  await chats.setRole('warm', 'bob', 'reader');
  await chats.unmute('warm', 'carl');
  await chats.leave('warm', 'carl');
}

test('each method is one round trip, create and join are two; calls of a tick and chat share one', async () => {
  await warm();
  const see = (action: () => Promise<unknown>): Promise<string[]> => transcript(redis, scope, action);

  const created = await see(() =>
    chats.create({ chatId: 'guild', sender: 'anna', members: ['bob'], body: 1, id: 'first' }),
  );
  const index = created.filter((line) => line.startsWith('evalsha member.index'));
  expect(index).toHaveLength(2);
  expect(created.slice(created.indexOf(`evalsha chat.create ${all}`))).toEqual([
    `evalsha chat.create ${all}`,
    '  time',
    `  exists ${guild}:chat`,
    `  zrange ${guild}:left`,
    `  get ${guild}:ended`,
    `  unlink ${guild}:log ${guild}:uncounted ${guild}:joined ${guild}:ids ${guild}:ids-before`,
    `  zadd ${guild}:chat`,
    `  rpush ${guild}:log`,
    `  pexpire ${guild}:log`,
    `  hset ${guild}:ids`,
    `  pexpire ${guild}:ids`,
    `  publish ${guild}:events`,
  ]);

  expect(await see(() => chats.post('guild', 'bob', 2))).toEqual([
    `evalsha chat.post ${post}`,
    `  zmscore ${guild}:chat`,
    '  time',
    `  hmget ${guild}:ids`,
    `  hmget ${guild}:ids-before`,
    `  hset ${guild}:ids`,
    `  rpush ${guild}:log`,
    `  zadd ${guild}:chat`,
    `  publish ${guild}:events`,
  ]);
  const usual = [
    `evalsha chat.post ${post}`,
    `  zmscore ${guild}:chat`,
    '  time',
    `  hmget ${guild}:ids`,
    `  hmget ${guild}:ids-before`,
    `  hset ${guild}:ids`,
    `  rpush ${guild}:log`,
    `  zadd ${guild}:chat`,
    `  publish ${guild}:events`,
  ];
  expect(await see(() => chats.post('guild', 'anna', 3))).toEqual(usual);
  expect(
    await see(() =>
      Promise.all([4, 5, 6].map((body) => chats.post('guild', body % 2 ? 'anna' : 'bob', body))),
    ),
  ).toEqual(usual);

  expect(await see(() => chats.edit('guild', 'anna', 3, 'three'))).toEqual([
    `evalsha chat.revise ${revise}`,
    `  zmscore ${guild}:chat`,
    `  hget ${guild}:ids`,
    `  hget ${guild}:ids-before`,
    `  llen ${guild}:log`,
    `  lindex ${guild}:log`,
    '  time',
    `  lset ${guild}:log`,
    ...usual.slice(3, 7),
    `  zadd ${guild}:uncounted`,
    `  zremrangebyscore ${guild}:uncounted`,
    `  pexpire ${guild}:uncounted`,
    ...usual.slice(7),
  ]);

  const acked = `evalsha chat.ack ${guild}:chat ${guild}:log ${guild}:uncounted`;
  // Some of it is freed.
  expect(await see(() => chats.ack('guild', 'bob', 1))).toEqual([
    acked,
    `  zmscore ${guild}:chat`,
    `  zadd ${guild}:chat`,
    `  zrange ${guild}:chat`,
    `  llen ${guild}:log`,
    `  lpop ${guild}:log`,
    `  zincrby ${guild}:chat`,
    `  zremrangebyscore ${guild}:uncounted`,
  ]);
  // Somebody is behind.
  expect(await see(() => chats.ack('guild', 'bob', 7))).toEqual([
    acked,
    `  zmscore ${guild}:chat`,
    `  zadd ${guild}:chat`,
    `  zrange ${guild}:chat`,
  ]);
  // It was who acks.
  expect(await see(() => Promise.all([3, 2, 5].map((id) => chats.ack('guild', 'anna', id))))).toEqual([
    acked,
    `  zmscore ${guild}:chat`,
    `  zadd ${guild}:chat`,
    `  zrange ${guild}:chat`,
    `  llen ${guild}:log`,
    `  lpop ${guild}:log`,
    `  zincrby ${guild}:chat`,
    `  zremrangebyscore ${guild}:uncounted`,
  ]);
  // All of it goes.
  expect(await see(() => chats.ack('guild', 'anna', 7))).toEqual([
    acked,
    `  zmscore ${guild}:chat`,
    `  zadd ${guild}:chat`,
    `  zrange ${guild}:chat`,
    `  unlink ${guild}:log ${guild}:uncounted`,
  ]);
  expect(await see(() => chats.ack('guild', 'anna', 7))).toEqual([acked, `  zmscore ${guild}:chat`]);

  const joined = await see(() => chats.join('guild', 'carl'));
  expect(joined.filter((line) => line.startsWith('evalsha member.index'))).toHaveLength(1);
  const join = `evalsha chat.join ${guild}:chat ${guild}:log ${guild}:joined ${guild}:left ${guild}:events`;
  const added = [
    join,
    `  zscore ${guild}:chat`,
    '  time',
    `  zcard ${guild}:chat`,
    `  zscore ${guild}:chat`,
    `  zscore ${guild}:left`,
    `  zadd ${guild}:chat`,
    `  llen ${guild}:log`,
  ];
  expect(joined.slice(joined.indexOf(join))).toEqual([
    ...added,
    `  unlink ${guild}:joined`,
    `  publish ${guild}:events`,
  ]);
  // Where something is stored that is not for them.
  await chats.post('guild', 'anna', 8);
  const late = await see(() => chats.join('guild', 'eve'));
  expect(late.slice(late.indexOf(join))).toEqual([
    ...added,
    `  zremrangebyscore ${guild}:joined`,
    `  zadd ${guild}:joined`,
    `  pexpire ${guild}:joined`,
    `  publish ${guild}:events`,
  ]);
  // Where a mute has outlived a leave.
  await redis.hset(`${prefix}:messaging:{fay}:mutes`, 'guild', '0');
  const back = await see(() => chats.join('guild', 'fay'));
  expect(back.filter((line) => !line.startsWith(' '))).toEqual([
    'evalsha member.index messaging:{fay}:chats messaging:{fay}:mutes messaging:{fay}:member-events',
    `zscore ${guild}:chat`,
    'evalsha member.unmute messaging:{fay}:mutes messaging:{fay}:member-events',
    join,
  ]);
  for (const name of ['eve', 'fay']) await chats.leave('guild', name);
  await chats.ack('guild', 'bob', 8);
  expect(await see(() => chats.setRole('guild', 'carl', 'reader', { by: 'anna' }))).toEqual([
    `evalsha chat.role ${guild}:chat`,
    `  zmscore ${guild}:chat`,
    `  zadd ${guild}:chat`,
  ]);
  const begun = (name: string): string[] => [
    `evalsha member.begin-leave messaging:{${name}}:chats messaging:{${name}}:mutes`,
    `  hdel messaging:{${name}}:mutes`,
    `  zscore messaging:{${name}}:chats`,
    '  time',
  ];
  const left = [
    '  time',
    `  zremrangebyscore ${guild}:left`,
    `  zadd ${guild}:left`,
    `  pexpire ${guild}:left`,
  ];
  const removed = (name: string): string[] => [
    `evalsha member.forget messaging:{${name}}:chats messaging:{${name}}:mutes`,
    '  time',
    `  zscore messaging:{${name}}:chats`,
    `  zrem messaging:{${name}}:chats`,
    `  hdel messaging:{${name}}:mutes`,
  ];
  expect(await see(() => chats.leave('guild', 'carl'))).toEqual([
    ...begun('carl'),
    `evalsha chat.leave ${all}`,
    ...left,
    `  zmscore ${guild}:chat`,
    `  zrem ${guild}:chat`,
    `  zrange ${guild}:chat`,
    `  zrem ${guild}:joined`,
    `  unlink ${guild}:log ${guild}:uncounted`,
    `  publish ${guild}:events`,
    ...removed('carl'),
  ]);
  // A join that is older than a minute cannot be on its way any more.
  await redis.zadd(`${prefix}:messaging:{bob}:chats`, 'XX', Date.now() - 61_000, 'guild');
  await chats.leave('guild', 'anna');
  expect(await see(() => chats.leave('guild', 'bob'))).toEqual([
    ...begun('bob'),
    `evalsha chat.leave ${all}`,
    `  zmscore ${guild}:chat`,
    `  zrem ${guild}:chat`,
    `  zrange ${guild}:chat`,
    `  unlink ${guild}:chat ${guild}:log ${guild}:uncounted ${guild}:joined ${guild}:ids ${guild}:ids-before`,
    '  time',
    `  set ${guild}:ended`,
    `  publish ${guild}:events`,
    ...removed('bob'),
  ]);
});
