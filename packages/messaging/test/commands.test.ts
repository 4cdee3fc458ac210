/** The Redis commands of each method: an added round trip shows here. */
import { describe, expect, test } from '@jest/globals';
import { Chats, Mailboxes } from '@mortise/messaging';
import { commands, commandTable, connect, freshPrefix, until } from '@mortise/test-kit';
import * as scripts from '../src/scripts.gen.js';
import { openChat, prefix, read, redis } from './fixture/guild.js';

type Steps = Readonly<Record<string, () => Promise<unknown>>>;

describe('mailboxes', () => {
  const own = freshPrefix();
  const mailboxes = new Mailboxes(redis, { prefix: own });
  const jack = `${own}:messaging:{jack}:mailbox`;
  const see = (steps: Steps): Promise<string> => commandTable(redis, { prefix: own, scripts }, steps);

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
        prefix: own,
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
});

describe('chats', () => {
  const own = freshPrefix();
  const chats = new Chats(redis, { prefix: own });
  const see = (steps: Steps, show: 'all' | 'outside' = 'all'): Promise<string> =>
    commandTable(redis, { prefix: own, scripts, show }, steps);

  test('trim is one round trip', async () => {
    await chats.create({ chatId: 'trimmed', sender: 'anna', members: ['bob'], body: 1 });
    await Promise.all([2, 3].map((body) => chats.post('trimmed', 'anna', body)));
    await chats.trim('trimmed', 0);
    expect(
      await see({
        trim: () => chats.trim('trimmed', 1),
        'trim of nothing': () => chats.trim('trimmed', 1),
        'trim of all': () => chats.trim('trimmed', 3),
      }),
    ).toMatchInlineSnapshot(`
"trim → chat.trim:  zmscore chat · llen log ×2 · lpop log · zincrby chat · zremrangebyscore uncounted
trim of nothing → chat.trim:  zmscore chat · llen log
trim of all → chat.trim:  zmscore chat · llen log · unlink log uncounted"
`);
  });

  test('a pull right after acks asks for the logs, and reads no head', async () => {
    await chats.create({ chatId: 'read', sender: 'dora', members: ['emil'], body: 1 });
    const pulled = await chats.pull('emil');
    await chats.ackAll('emil', pulled);
    const after = (): Promise<unknown> => chats.pull('emil');
    expect(await see({ 'pull after acks': after })).toMatchInlineSnapshot(
      `"pull after acks → zrange chats | hgetall mutes | time | exists log"`,
    );
    await chats.post('read', 'dora', 2);
    expect(await see({ 'pull after a post': after })).toMatchInlineSnapshot(
      `"pull after a post → zrange chats | hgetall mutes | time | exists log | zmscore chat | lrange log | mget ended"`,
    );
  });

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
        create: () =>
          chats.create({ chatId: 'guild', sender: 'anna', members: ['bob'], body: 1, id: 'first' }),
        post: () => chats.post('guild', 'bob', 2),
        'post of another member': () => chats.post('guild', 'anna', 3),
        'posts of a tick': () =>
          Promise.all(posts.map(([sender, body]) => chats.post('guild', sender, body))),
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
      await see({ 'join after a stored message': () => chats.join('guild', 'eve') }),
    ).toMatchInlineSnapshot(
      `"join after a stored message → member.index:  time · zcard chats · zscore chats · zadd chats · publish member-events · hexists mutes | chat.join:  zscore chat · time · zcard chat · zscore chat · zscore left · zadd chat · llen log · zremrangebyscore joined · zadd joined · pexpire joined · publish events"`,
    );
    // A mute that has outlived a leave.
    await redis.hset(`${own}:messaging:{fay}:mutes`, 'guild', '0');
    expect(
      await see({ 'join with a mute': () => chats.join('guild', 'fay') }, 'outside'),
    ).toMatchInlineSnapshot(`"join with a mute → member.index | zscore chat | member.unmute | chat.join"`);
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
    await redis.zadd(`${own}:messaging:{bob}:chats`, 'XX', Date.now() - 61_000, 'guild');
    await chats.leave('guild', 'anna');
    expect(
      await see({ 'leave of the last member': () => chats.leave('guild', 'bob') }),
    ).toMatchInlineSnapshot(
      `"leave of the last member → member.begin-leave:  hdel mutes · zscore chats · time | chat.leave:  zmscore chat · zrem chat · zrange chat · unlink chat log uncounted joined ids ids-before · time · set ended · publish events | member.forget:  time · zscore chats · zrem chats · hdel mutes"`,
    );
  });
});

describe('following', () => {
  async function openChats(): Promise<Chats> {
    const chats = await openChat();
    await chats.create({ chatId: 'other', sender: 'anna', members: ['bob', 'carl'] });
    return chats;
  }

  /** The commands of the package, without those inside scripts. */
  const seenIn = (action: () => Promise<unknown>, edit?: (lines: readonly string[]) => readonly string[]) =>
    commands(redis, { prefix, scripts, show: 'outside', ...(edit && { edit }) }, action);

  const linesOf = async (action: () => Promise<unknown>): Promise<readonly string[]> => {
    let all: readonly string[] = [];
    await seenIn(action, (lines) => (all = lines));
    return all;
  };

  test('begins with a subscription for the member and each chat, the index, each head, and the unread entries', async () => {
    // The first follower of a client sends a PING, too, and scripts that the server doesn't know.
    const before = await openChats();
    await before.post('guild', 'anna', 1);
    await read(before, 'bob').hasText('guild:1');
    const chats = await openChats();
    await chats.post('guild', 'anna', 1);
    await chats.post('other', 'anna', 1);
    expect(
      await seenIn(
        () => read(chats, 'bob').has(2),
        (lines) => lines.toSorted(),
      ),
    ).toMatchInlineSnapshot(`
"follow.index
follow.page ×2
subscribe events ×2
subscribe member-events
zmscore chat ×2"
`);
  });

  test('a second follower of the chats shares their subscriptions, and pages that are just read', async () => {
    const chats = await openChats();
    await chats.post('guild', 'anna', 1);
    await read(chats, 'bob').hasText('guild:1');
    expect(await seenIn(() => read(chats, 'carl').hasText('guild:1'))).toMatchInlineSnapshot(`
"subscribe member-events
follow.index
zmscore chat ×2"
`);
  });

  test('a message to twenty followers, pushed: nothing but the post', async () => {
    const chats = await openChats();
    await chats.post('guild', 'anna', 1);
    const followers = Array.from({ length: 20 }, (_, index) => read(chats, index % 2 ? 'bob' : 'carl'));
    for (const follower of followers) await follower.hasText('guild:1');
    const seen = await seenIn(async () => {
      await chats.post('guild', 'anna', 2);
      for (const follower of followers) await follower.hasText('guild:2');
    });
    expect(seen).toMatchInlineSnapshot(`"chat.post"`);
  });

  test('a follower that is not read fetches four pages for any number of chats', async () => {
    const chats = await openChats();
    const chatIds = Array.from({ length: 20 }, (_, index) => `chat-${index}`);
    for (const chatId of chatIds) await chats.create({ chatId, sender: 'anna', members: ['bob'], body: 1 });
    const events = chats.follow('bob');
    const seen = await linesOf(async () => {
      await events.next();
      // Its other reads are answered before this.
      for (const chatId of chatIds) await chats.typing(chatId, 'anna');
    });
    await events.return?.();
    const pages = seen.filter((line) => line.startsWith('follow.page'));
    expect(pages.length).toBeGreaterThan(0);
    expect(pages.length).toBeLessThanOrEqual(4);
  });

  test('an interruption costs the subscriptions, the index, and one read of each chat for all of its followers', async () => {
    const chats = await openChats();
    const own = connect();
    const process = new Chats(own, { prefix });
    await chats.post('guild', 'anna', 1);
    const followers = ['bob', 'carl', 'bob'].map((member) => read(process, member));
    for (const follower of followers) await follower.hasText('guild:1');
    const id = await own.client('ID');
    const seen = await linesOf(async () => {
      await redis.client('KILL', 'ID', id);
      await until('the reconnect', () => own.status !== 'ready');
      await until('the client', () => own.status === 'ready');
      await chats.post('guild', 'anna', 2);
      for (const follower of followers) await follower.hasText('guild:2');
    });
    const count = (start: string): number => seen.filter((line) => line.startsWith(start)).length;
    expect(count('zmscore')).toBeLessThanOrEqual(4);
    expect(count('follow.index')).toBe(3);
    expect(count('follow.page')).toBeLessThanOrEqual(1);
    expect(count('subscribe')).toBe(1);
  });

  test('typing: one command', async () => {
    const chats = await openChats();
    await chats.typing('guild', 'bob');
    expect(await seenIn(() => chats.typing('guild', 'bob'))).toMatchInlineSnapshot(`"follow.signal"`);
  });

  test('presence: the index, and one command for each chat', async () => {
    const chats = await openChats();
    await chats.presence('bob', 'here');
    expect(await seenIn(() => chats.presence('bob', 'here'))).toMatchInlineSnapshot(`
"follow.index
follow.signal ×2"
`);
  });
});
