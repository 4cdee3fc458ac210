/** Roles decide who may write, owners remove messages, and a member or a recipient can be left in peace. */
import { randomUUID } from 'node:crypto';
import { Chats, Mailboxes, NotAllowedError } from '@mortise/messaging';
import { Redis } from 'ioredis';

const redis = new Redis(process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379');
const prefix = `example-${randomUUID()}`;
const chats = new Chats<string>(redis, { prefix, maxMembers: 3 });
const refused = async (call: Promise<unknown>): Promise<unknown> =>
  call
    .then(() => 'allowed')
    .catch((error: unknown) => (error instanceof NotAllowedError ? error.code : error));

const { chatId } = await chats.create({ sender: 'jill', members: ['jack'], body: 'Rules: be kind.' });
await chats.join(chatId, 'joe', { role: 'reader' });
console.log('joe posts:', await refused(chats.post(chatId, 'joe', 'Buy now!')));
console.log('jack promotes joe:', await refused(chats.setRole(chatId, 'joe', 'member', { by: 'jack' })));
console.log('jill promotes joe:', await refused(chats.setRole(chatId, 'joe', 'member', { by: 'jill' })));

const spam = await chats.post(chatId, 'joe', 'Buy now!');
await chats.delete(chatId, 'jill', spam.id);
await chats.leave(chatId, 'joe');
console.log('joe is out:', await refused(chats.post(chatId, 'joe', 'Buy now!')));
for (const { messages } of await chats.pull('jack')) {
  for (const { kind, body, revises } of messages) console.log('jack reads:', kind, body ?? `of ${revises}`);
}

// A muted chat counts on, and isn't pulled.
await chats.mute(chatId, 'jack', { untilMs: Date.now() + 3_600_000 });
console.log('muted:', (await chats.pull('jack')).length, (await chats.chatsOf('jack'))[0]?.unread);

const mailboxes = new Mailboxes<string>(redis, { prefix });
await mailboxes.block('jill', 'joe');
console.log('joe mails jill:', await refused(mailboxes.send('jill', 'Buy now!', { from: 'joe' })));
await redis.quit();

// Output:
// joe posts: ERR_READ_ONLY_MEMBER
// jack promotes joe: ERR_NOT_ALLOWED
// jill promotes joe: allowed
// joe is out: ERR_NOT_A_MEMBER
// jack reads: message Rules: be kind.
// jack reads: delete of 2
// muted: 0 1
// joe mails jill: ERR_SENDER_BLOCKED
