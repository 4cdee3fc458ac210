import { expect, test } from '@jest/globals';
import { Chats } from '@mortise/messaging';
import { commandTable, connect, freshPrefix } from '@mortise/test-kit';
import * as scripts from '../src/scripts.gen.js';

const redis = connect();
const prefix = freshPrefix();
const chats = new Chats(redis, { prefix });
const see = (steps: Readonly<Record<string, () => Promise<unknown>>>): Promise<string> =>
  commandTable(redis, { prefix, scripts }, steps);
const seeOutside = (steps: Readonly<Record<string, () => Promise<unknown>>>): Promise<string> =>
  commandTable(redis, { prefix, scripts, show: 'outside' }, steps);

test('each method is one round trip, create and join are two; calls of a tick and chat share one', async () => {
  // Scripts that a server doesn't know are sent as text, once.
  await chats.create({ chatId: 'warm', sender: 'anna', members: ['bob'], body: 1 });
  await chats.join('warm', 'carl');
  await chats.post('warm', 'anna', 2);
  await chats.edit('warm', 'anna', 2, 3);
  await chats.ack('warm', 'bob', 2);
  await chats.setRole('warm', 'bob', 'reader');
  await chats.unmute('warm', 'carl');
  await chats.leave('warm', 'carl');

  const posts = [4, 5, 6].map((body) => [body % 2 ? 'anna' : 'bob', body] as const);
  expect(
    await see({
      create: () => chats.create({ chatId: 'guild', sender: 'anna', members: ['bob'], body: 1, id: 'first' }),
      post: () => chats.post('guild', 'bob', 2),
      'post of another member': () => chats.post('guild', 'anna', 3),
      'posts of a tick': () => Promise.all(posts.map(([sender, body]) => chats.post('guild', sender, body))),
      edit: () => chats.edit('guild', 'anna', 3, 'three'),
      'ack that frees some': () => chats.ack('guild', 'bob', 1),
      'ack while another member is behind': () => chats.ack('guild', 'bob', 7),
      'acks of a tick, of the slowest member': () =>
        Promise.all([3, 2, 5].map((id) => chats.ack('guild', 'anna', id))),
      'ack that frees all': () => chats.ack('guild', 'anna', 7),
      'ack again': () => chats.ack('guild', 'anna', 7),
      join: () => chats.join('guild', 'carl'),
    }),
  ).toMatchInlineSnapshot(`
"create → (member.index:  time · zcard chats · zscore chats · zadd chats · publish member-events · hexists mutes) ×2 | chat.create:  time · exists chat · zrange left · get ended · unlink log uncounted joined ids ids-before · zadd chat · rpush log · pexpire log · hset ids · pexpire ids · publish events
post → chat.post:  zmscore chat · time · hmget ids · hmget ids-before · hset ids · rpush log · zadd chat · publish events
post of another member → chat.post:  zmscore chat · time · hmget ids · hmget ids-before · hset ids · rpush log · zadd chat · publish events
posts of a tick → chat.post:  zmscore chat · time · hmget ids · hmget ids-before · hset ids · rpush log · zadd chat · publish events
edit → chat.revise:  zmscore chat · hget ids · hget ids-before · llen log · lindex log · time · lset log · hmget ids · hmget ids-before · hset ids · rpush log · zadd uncounted · zremrangebyscore uncounted · pexpire uncounted · zadd chat · publish events
ack that frees some → chat.ack:  zmscore chat · zadd chat · zrange chat · llen log · lpop log · zincrby chat · zremrangebyscore uncounted
ack while another member is behind → chat.ack:  zmscore chat · zadd chat · zrange chat
acks of a tick, of the slowest member → chat.ack:  zmscore chat · zadd chat · zrange chat · llen log · lpop log · zincrby chat · zremrangebyscore uncounted
ack that frees all → chat.ack:  zmscore chat · zadd chat · zrange chat · unlink log uncounted
ack again → chat.ack:  zmscore chat
join → member.index:  time · zcard chats · zscore chats · zadd chats · publish member-events · hexists mutes | chat.join:  zscore chat · time · zcard chat · zscore chat · zscore left · zadd chat · llen log · unlink joined · publish events"
`);
  // A stored message that is not for the new member.
  await chats.post('guild', 'anna', 8);
  expect(
    await see({ 'join behind a stored message': () => chats.join('guild', 'eve') }),
  ).toMatchInlineSnapshot(
    `"join behind a stored message → member.index:  time · zcard chats · zscore chats · zadd chats · publish member-events · hexists mutes | chat.join:  zscore chat · time · zcard chat · zscore chat · zscore left · zadd chat · llen log · zremrangebyscore joined · zadd joined · pexpire joined · publish events"`,
  );
  // A mute that has outlived a leave.
  await redis.hset(`${prefix}:messaging:{fay}:mutes`, 'guild', '0');
  expect(await seeOutside({ 'join with a mute': () => chats.join('guild', 'fay') })).toMatchInlineSnapshot(
    `"join with a mute → member.index | zscore chat | member.unmute | chat.join"`,
  );
  for (const name of ['eve', 'fay']) await chats.leave('guild', name);
  await chats.ack('guild', 'bob', 8);
  expect(
    await see({
      setRole: () => chats.setRole('guild', 'carl', 'reader', { by: 'anna' }),
      leave: () => chats.leave('guild', 'carl'),
    }),
  ).toMatchInlineSnapshot(`
"setRole → chat.role:  zmscore chat · zadd chat
leave → member.begin-leave:  hdel mutes · zscore chats · time | chat.leave:  time · zremrangebyscore left · zadd left · pexpire left · zmscore chat · zrem chat · zrange chat · zrem joined · unlink log uncounted · publish events | member.forget:  time · zscore chats · zrem chats · hdel mutes"
`);
  // A join that is older than a minute cannot be on its way any more.
  await redis.zadd(`${prefix}:messaging:{bob}:chats`, 'XX', Date.now() - 61_000, 'guild');
  await chats.leave('guild', 'anna');
  expect(await see({ 'leave of the last member': () => chats.leave('guild', 'bob') })).toMatchInlineSnapshot(
    `"leave of the last member → member.begin-leave:  hdel mutes · zscore chats · time | chat.leave:  zmscore chat · zrem chat · zrange chat · unlink chat log uncounted joined ids ids-before · time · set ended · publish events | member.forget:  time · zscore chats · zrem chats · hdel mutes"`,
  );
});
